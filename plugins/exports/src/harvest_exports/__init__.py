"""harvest exporters: PostgreSQL, a file of DuckDB, research objects."""
