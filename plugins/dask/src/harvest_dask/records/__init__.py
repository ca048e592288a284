"""Record types of Dask runs, what readers of their recorders share, and the source of captures.

A reader of any recorder stands on ``types``, the record types; ``literals`` and ``key_columns``,
keys of tasks in one spelling, one by one and in columns; ``stimuli``, kinds of stimuli;
``log_kinds``, what a line of Dask's log says; ``arrays``, lists and maps for Arrow.
"""
