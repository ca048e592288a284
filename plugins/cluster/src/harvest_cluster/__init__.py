"""Engines of harvest for clusters: Slurm jobs, and workers of a Dask cluster."""
