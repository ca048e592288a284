"""Clusters, started when a test first asks for one."""

from __future__ import annotations

from clusters import anywhere, on_slurm, paced, slurm_environment

__all__ = ["anywhere", "on_slurm", "paced", "slurm_environment"]
