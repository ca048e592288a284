"""The report ``gpfs.summary``: its sections, tables and plots."""
