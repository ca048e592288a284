"""The views of Dask runs: ``declared`` has their names, settings and columns."""
