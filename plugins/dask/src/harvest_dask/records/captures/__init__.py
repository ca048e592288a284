"""The source ``dask``: capture directories, which record any Dask cluster while it runs."""
