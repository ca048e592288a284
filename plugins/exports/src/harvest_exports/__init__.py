"""Exporters: PostgreSQL, DuckDB files, Delta Lake tables, RO-Crates."""
