"""What is on disk next to the rows: manifest, staging, commit, lock, history, rejects."""
