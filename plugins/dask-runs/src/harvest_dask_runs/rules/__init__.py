"""Rules on a Dask run: where its time went, and what puts its record or its results in doubt."""
