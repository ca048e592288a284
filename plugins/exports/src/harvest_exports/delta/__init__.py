"""The exporter ``delta``: record types and views as tables of Delta Lake."""
