"""Clusters, started when a test first asks for one."""

from clusters import anywhere, on_slurm, paced, slurm_environment

__all__ = ["anywhere", "on_slurm", "paced", "slurm_environment"]
