"""Comparison of Dask runs: their differences, and how sure these are."""
