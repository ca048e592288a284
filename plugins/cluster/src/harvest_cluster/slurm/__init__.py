"""Partitions as jobs of Slurm."""
