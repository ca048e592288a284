"""Partitions on a Dask cluster."""
