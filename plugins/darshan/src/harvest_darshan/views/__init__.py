"""Views of I/O: files, processes, bytes over time.  Lazy polars frames over a dataset's rows."""
