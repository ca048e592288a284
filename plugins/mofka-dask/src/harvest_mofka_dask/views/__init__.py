"""Views of Dask runs: executions, tasks, workers, and each run at a glance.

``harvest_mofka_dask.columns`` has what their columns mean.
"""
