"""Views of Dask runs: executions, tasks, workers, and each run at a glance.

``harvest_dask_runs.columns`` has what their columns mean.
"""
