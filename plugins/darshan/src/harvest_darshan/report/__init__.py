"""The report ``darshan.io``: the I/O of one job, or of many, on one page."""
