"""Rows read from Parquet files by DuckDB, which can open only these files.

``scratch`` writes rows that are in no Parquet file, while the server runs; ``files`` finds the
files of a table's rows; ``guarded`` opens only these.
"""
