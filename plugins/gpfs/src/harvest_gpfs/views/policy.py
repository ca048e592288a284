"""The view ``gpfs.policy``: what a rule that removes or migrates what is old would free."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from ..aggregation.bins import AgeBins
from ..aggregation.groupings import Setting
from ..aggregation.scans import LATEST, label_of
from .common import (
    INT,
    KNOWN,
    SHARE,
    SUMS,
    TEXT,
    exclusive,
    flagged,
    key_types,
    largest_first,
    listing,
    named,
    of_scan,
    share_of,
)

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["POLICY", "policy"]

POLICY: Final = "90,180,365"
"""Days of the policies that are tried unless others are given."""

_AGES: Final = ("access_age", "modify_age")


def policy(
    dataset: DatasetReader,
    policy: str = POLICY,
    by: Sequence[str] = (),
    scan: str = LATEST,
    now: str | None = None,
    root: str | None = None,
    top_depth: int = 1,
    passwd: Path | None = None,
    group: Path | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.policy``: for each number of days, what is older by one of three measures.

    ``time``: access, modify, or both, which is what the view ``gpfs.cold`` calls cold.
    Of ``untimed`` objects it is not known whether that time is older; ``freed_share`` is of the
    others.  Directories do not count.
    Of each measure the groups that it would free most bytes of come first.
    """
    names = exclusive(by, _AGES)
    bins = AgeBins.parse(str(policy))
    setting = named(passwd, group, ages=bins, top_depth=top_depth)
    schema = {
        **key_types(names),
        "days": INT,
        "time": TEXT,
        **{f"freed_{name}": INT for name in SUMS},
        **dict.fromkeys(SUMS, INT),
        **{f"known_{name}": INT for name in KNOWN},
        "freed_share": SHARE,
        "untimed": INT,
    }

    found = listing(dataset, scan, now=now, root=root)

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, *_AGES], SUMS, setting, directories=False)
        return _freed(_in_days(table, setting), names, bins.edges).with_columns(
            share_of("freed_size_bytes", "known_size_bytes").alias("freed_share")
        )

    return of_scan(found, schema, compute, now=label_of(found.now))


def _freed(table: pl.DataFrame, names: Sequence[str], limits: Sequence[int]) -> pl.DataFrame:
    """What each limit of days would free, by each measure."""
    tables = []
    for days in limits:
        for time, freed in _tests(days).items():
            tested = table.with_columns(freed.alias("freed"))
            sums = largest_first(flagged(tested, "freed", "freed", names), "freed_size_bytes")
            tables.append(sums.with_columns(days=pl.lit(days, INT), time=pl.lit(time)))
    return pl.concat(tables)


def _in_days(table: pl.DataFrame, setting: Setting) -> pl.DataFrame:
    """Classes of age as the days that all of their objects are older than; -1 for the future."""
    bins = setting.ages
    lowest = [-1 if low is None else low for low, _ in bins.bounds]
    return table.with_columns(
        pl.col(name).replace_strict(bins.labels, lowest, default=None, return_dtype=INT)
        for name in _AGES
    )


def _tests(days: int) -> dict[str, pl.Expr]:
    """Whether a class is older than so many days, by each measure; null where that is unknown."""
    access, modify = (pl.col(name) >= days for name in _AGES)
    return {"access": access, "modify": modify, "both": access & modify}
