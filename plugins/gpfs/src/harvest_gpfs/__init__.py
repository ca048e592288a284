"""GPFS (IBM Storage Scale) policy lists: every file of a file system, one line each."""
