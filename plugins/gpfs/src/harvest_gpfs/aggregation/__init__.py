"""Sums over policy scans: one lazy definition, run by interchangeable backends.

    from harvest_gpfs import aggregate, write_result

    result = aggregate("out", by=("uid", "top"))
    write_result(result, "usage.csv")

``definition`` says what is grouped and summed, ``links`` how hard links count once, ``steps`` what
a backend is asked to do, ``on_polars`` and ``on_dask`` how they do it, ``choose`` which one suits.
"""

from __future__ import annotations

from ..measures import DEFAULT
from .api import Result, aggregate
from .choose import Choice, available_memory, choose_backend
from .groupings import GROUPINGS, Grouping
from .metrics import METRICS, Metric
from .on_polars import BACKENDS, Backend, backends
from .result import write_result

__all__ = [
    "BACKENDS",
    "DEFAULT",
    "GROUPINGS",
    "METRICS",
    "Backend",
    "Choice",
    "Grouping",
    "Metric",
    "Result",
    "aggregate",
    "available_memory",
    "backends",
    "choose_backend",
    "write_result",
]
