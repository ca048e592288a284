"""The view ``gpfs.policy``: what a rule that removes or migrates what is old would free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from ...aggregation.bins import AgeBins
from ...aggregation.scans import label_of
from ..common import (
    INT,
    KNOWN,
    SUMS,
    TEXT,
    aggregated_schema,
    asked,
    exclusive,
    flagged,
    largest_first,
    of_scan,
    types_of,
)

__all__ = ["policy"]

_AGES: Final = ("access_age", "modify_age")
_COLUMNS: Final = {
    "days": INT,
    "time": TEXT,
    **types_of(
        *(f"freed_{name}" for name in SUMS),
        *SUMS,
        *(f"known_{name}" for name in KNOWN),
        "freed_share",
        "untimed",
    ),
}


def policy(
    dataset: DatasetReader, policy: str, by: Sequence[str], scan: str, **where: Any
) -> pl.LazyFrame:
    """The view ``gpfs.policy``: for each number of days, what is older by one of three measures.

    ``time``: access, modify, or both, which is what the view ``gpfs.cold`` calls cold.
    Of ``untimed`` objects it is not known whether that time is older; ``freed_share`` is of the
    others.  Directories do not count.
    Of each measure the groups that it would free most bytes of come first.
    """
    names = exclusive(by, *_AGES)
    bins = AgeBins.parse(policy)
    found, setting = asked(dataset, scan, ages=bins, **where)
    # classes of age as the days that all of their objects are older than; -1 for the future
    lowest = [-1 if low is None else low for low, _ in bins.bounds]

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, *_AGES], SUMS, setting, directories=False).with_columns(
            pl.col(name).replace_strict(bins.labels, lowest, default=None, return_dtype=INT)
            for name in _AGES
        )
        tables = []
        for days in bins.edges:
            # null where it is not known whether a class is older
            access, modify = (pl.col(name) >= days for name in _AGES)
            tests = {"access": access, "modify": modify, "both": access & modify}
            for time, freed in tests.items():
                sums = flagged(table.with_columns(freed=freed), "freed", names)
                sums = largest_first(sums, "freed_size_bytes")
                tables.append(sums.with_columns(days=pl.lit(days, INT), time=pl.lit(time)))
        return pl.concat(tables).with_columns(
            freed_share=fraction("freed_size_bytes", "known_size_bytes")
        )

    schema = {**aggregated_schema(names), **_COLUMNS}
    return of_scan(found, schema, compute, now=label_of(found.now))
