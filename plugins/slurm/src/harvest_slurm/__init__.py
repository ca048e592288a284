"""Slurm's accounting as harvest records: what ``sacct`` reports, from files or a live cluster."""
