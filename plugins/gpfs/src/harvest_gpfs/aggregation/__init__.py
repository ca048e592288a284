"""Sums over policy scans: one lazy definition, which interchangeable backends run.

    from harvest_gpfs import aggregate, write_result

    result = aggregate("out", by=("uid", "top"))
    write_result(result, "usage.csv")

``definition`` defines groupings and sums. ``listing`` counts hard links once. ``scans`` defines the
interface of backends. ``on_polars`` and ``on_dask`` implement backends and choose between them.
"""

from .api import Result, aggregate, write_result
from .definition import METRICS
from .groupings import GROUPINGS
from .on_polars import BACKENDS

__all__ = ["BACKENDS", "GROUPINGS", "METRICS", "Result", "aggregate", "write_result"]
