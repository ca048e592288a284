"""Record types of Dask runs, helpers that all readers share, and the source of captures.

Readers use ``types``, the record types; ``literals`` and ``key_columns``, canonical spelling of
task keys, single or in columns; ``kinds``, kinds of stimuli and of lines of Dask's log; and
``arrays``, lists and maps for Arrow.
"""
