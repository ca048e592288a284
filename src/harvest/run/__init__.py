"""Running a harvest: plan, read and stage, commit, account."""
