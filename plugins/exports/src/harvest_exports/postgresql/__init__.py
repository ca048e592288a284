"""The exporter ``postgresql``: tables in a schema, updated after each commit."""
