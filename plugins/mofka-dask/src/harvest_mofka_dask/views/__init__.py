"""Views of Dask runs: executions, tasks, workers, and each run at a glance."""
