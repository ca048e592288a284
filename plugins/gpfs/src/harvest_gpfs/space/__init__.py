"""Deletion candidates of a GPFS file system, their owners, and how long the space lasts."""
