"""From a plan to a result: list, read, stage for each sink, commit, account."""
