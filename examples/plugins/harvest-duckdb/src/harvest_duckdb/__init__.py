"""The harvest sink ``duckdb``."""
