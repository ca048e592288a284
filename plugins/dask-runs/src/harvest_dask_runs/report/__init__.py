"""The report ``dask.run``: one run on one page."""
