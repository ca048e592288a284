"""The exporter ``postgresql``: tables in a schema, kept up to date commit by commit."""
