"""A run as a page that zooms: ``harvest_dask_runs.timeline`` by the name it had before."""

from harvest_dask_runs.timeline import write_timeline

__all__ = ["write_timeline"]
