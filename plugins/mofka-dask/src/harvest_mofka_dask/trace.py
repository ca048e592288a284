"""A run as a trace for Perfetto: ``harvest_dask_runs.trace`` by the name it had before."""

from harvest_dask_runs.trace import write_trace

__all__ = ["write_trace"]
