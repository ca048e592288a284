"""Sums over policy scans: one lazy definition, run by interchangeable backends.

    from harvest_gpfs import aggregate, write_result

    result = aggregate("out", by=("uid", "top"))
    write_result(result, "usage.csv")

``definition`` says what is grouped and summed, ``links`` how hard links count once, ``scans`` what
a backend is asked to do, ``on_polars`` and ``on_dask`` how they do it, and which one suits.
"""

from __future__ import annotations

from ..measures import DEFAULT
from .api import Result, aggregate, write_result
from .definition import METRICS, Metric
from .groupings import GROUPINGS, Grouping
from .on_polars import BACKENDS, Choice, available_memory, choose_backend

__all__ = [
    "BACKENDS",
    "DEFAULT",
    "GROUPINGS",
    "METRICS",
    "Choice",
    "Grouping",
    "Metric",
    "Result",
    "aggregate",
    "available_memory",
    "choose_backend",
    "write_result",
]
