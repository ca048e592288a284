"""Datasets: the committed output of sinks, opened for reading."""

from .dataset import Dataset, open  # noqa: A004

__all__ = ["Dataset", "open"]
