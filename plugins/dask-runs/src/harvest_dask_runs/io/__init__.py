"""The I/O of tasks: which process is which worker, and which task did which of its I/O."""
