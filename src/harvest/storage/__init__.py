"""What lies on disk beside the rows: manifest, staging, commit, lock, history, rejects."""
