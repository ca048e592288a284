"""Converts rows of text to rows of ``slurm.job`` and ``slurm.step``."""
