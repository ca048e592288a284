"""harvest exporters to databases: PostgreSQL, and a file of DuckDB."""
