"""Sums over policy scans: one lazy definition, run by interchangeable backends.

    from harvest_gpfs import aggregate, write_result

    result = aggregate("out", by=("uid", "top"))
    write_result(result, "usage.csv")

``definition`` says what is grouped and summed, ``listing`` how hard links count once, ``scans``
what a backend is asked to do, ``on_polars`` and ``on_dask`` how they do it, and which one suits.
"""

from __future__ import annotations

from .api import Result, aggregate, write_result
from .definition import METRICS
from .groupings import GROUPINGS
from .on_polars import BACKENDS

__all__ = ["BACKENDS", "GROUPINGS", "METRICS", "Result", "aggregate", "write_result"]
