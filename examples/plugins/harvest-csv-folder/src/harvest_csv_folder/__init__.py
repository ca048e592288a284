"""The harvest exporter ``csv-folder``."""
