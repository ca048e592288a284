"""Entries with which other programs run a harvest at set times: printed, never installed."""
