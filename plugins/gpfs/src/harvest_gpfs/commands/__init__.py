"""The commands ``harvest gpfs ...``."""
