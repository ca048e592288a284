"""How rows are read: Parquet files by DuckDB, which reaches nothing but these.

``scratch`` is where rows that are in no Parquet file are written while the server runs;
``files`` says in which files the rows of a table are; ``guarded`` opens these alone.
"""
