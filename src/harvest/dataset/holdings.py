"""What a dataset holds of each record type: how much, from where, and of which time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import attrs
import polars as pl

from harvest.storage.accounts import accounts_of, rows_by_type

if TYPE_CHECKING:
    from .dataset import Dataset


@attrs.frozen(kw_only=True)
class Holding:
    """What a dataset holds of a record type.

    rows: how many; origins: how many inputs they come from; sources: which read these.
    first, last: the first and the last time in its rows; None where it has no times, or no
        installed plugin declares it.
    """

    record_type: str
    rows: int
    origins: int
    sources: tuple[str, ...]
    first: datetime | None = None
    last: datetime | None = None


def holdings(dataset: Dataset) -> list[Holding]:
    """A holding of each record type of which there are rows, by name."""
    counts = {name: rows for name, rows in dataset.record_types.items() if rows}
    read = {row["of"]: row for row in rows_by_type(accounts_of(dataset.manifest.parts)).to_dicts()}
    known = dataset.plugins.record_types(counts)
    spans = _spans(dataset, [name for name in counts if name in known])
    found = []
    for name, rows in sorted(counts.items()):
        first, last = spans.get(name, (None, None))
        origins, sources = read[name]["origins"], tuple(read[name]["sources"])
        found.append(Holding(record_type=name, rows=rows, origins=origins, sources=sources,
                             first=first, last=last))  # fmt: skip
    return found


def _spans(
    dataset: Dataset, names: Sequence[str]
) -> dict[str, tuple[datetime | None, datetime | None]]:
    """The first and the last time in the rows of each record type that has times."""
    queries = {}
    for name in names:
        roles = dataset.record_type(name).roles
        columns = [roles[role] for role in ("time", "end_time") if role in roles]
        if columns:
            queries[name] = dataset[name].select(
                first=pl.min_horizontal(pl.col(c).min() for c in columns),
                last=pl.max_horizontal(pl.col(c).max() for c in columns),
            )
    spans = zip(queries, pl.collect_all(queries.values()), strict=True)
    return {name: table.row(0) for name, table in spans}
