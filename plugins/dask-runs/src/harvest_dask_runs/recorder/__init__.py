"""What the reader of any recorder of Dask runs stands on: one spelling of keys, one of words.

``literals``: keys of tasks from their texts; ``key_columns``: the same for whole columns;
``stimuli``: kinds of stimuli; ``log_kinds``: what a line of Dask's log says; ``arrays``: lists and
maps for Arrow.  ``harvest_dask_runs.records`` has the record types that a reader yields.
"""
