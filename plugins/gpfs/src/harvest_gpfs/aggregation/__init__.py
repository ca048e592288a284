"""Sums over policy scans: one lazy definition, run by interchangeable backends.

    from harvest_gpfs import aggregate, write_result

    result = aggregate("out", by=("uid", "top"))
    write_result(result, "usage.csv")

``definition`` has groupings and sums, ``listing`` counts hard links once, ``scans`` defines the
work of a backend, ``on_polars`` and ``on_dask`` do it and choose the backend.
"""

from __future__ import annotations

from .api import Result, aggregate, write_result
from .definition import METRICS
from .groupings import GROUPINGS
from .on_polars import BACKENDS

__all__ = ["BACKENDS", "GROUPINGS", "METRICS", "Result", "aggregate", "write_result"]
