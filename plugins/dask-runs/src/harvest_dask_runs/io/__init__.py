"""The I/O of tasks: which traced operation which task did."""
