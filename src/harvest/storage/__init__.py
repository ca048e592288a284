"""Files next to a dataset's rows: manifest, staging, commit, lock, history, rejects."""
