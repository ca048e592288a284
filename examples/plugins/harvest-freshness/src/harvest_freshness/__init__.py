"""A listener that tells Prometheus how fresh datasets are."""
