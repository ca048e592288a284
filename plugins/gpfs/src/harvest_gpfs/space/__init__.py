"""Deletion candidates of a GPFS file system, their owners, and forecasts of its free space."""
