"""What could go of a GPFS file system, whose it is, and how long the space lasts."""
