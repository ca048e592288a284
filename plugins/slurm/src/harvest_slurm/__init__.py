"""Slurm's accounting as harvest records: what ``sacct`` tells, from files or a live cluster."""
