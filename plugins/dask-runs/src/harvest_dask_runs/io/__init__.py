"""The I/O of tasks: which process is which worker, and which of its I/O is whose."""
