"""The steps of a run: list and plan, read, stage for each sink, commit, account."""
