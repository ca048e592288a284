"""The values of columns that have few of them, with how many rows have each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import pyarrow.compute as pc

from harvest import UsageError

from .engine.files import files_of
from .engine.guarded import opened, quoted
from .filters import Filter, where_sql
from .sql import check_condition
from .state import Snapshot
from .tables import checked, describe, frozen

FEW: Final = 30
"""A column with more values than so many is no facet."""

_SAMPLE: Final = 20_000
"""Rows, the first ones, that show that a column has too many values."""

_TYPES: Final = ("text", "boolean", "integer")


@attrs.frozen(kw_only=True)
class Facet:
    """The values of a column among the rows that are chosen.

    values: the most frequent first, each with how many rows have it; None is one that is not known.
    others: rows whose value is none of these; 0 where all are listed.
    """

    column: str
    values: tuple[tuple[Any, int], ...]
    others: int


def facet_columns(
    snapshot: Snapshot, table: str, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """The columns of text, truth and whole numbers that have two to FEW values at first."""
    key = ("facet columns", checked(snapshot, table), frozen(settings))
    return snapshot.kept(key, lambda: _columns(snapshot, table, settings))


def _columns(snapshot: Snapshot, table: str, settings: Mapping[str, Any] | None) -> list[str]:
    described = describe(snapshot, table, settings).columns
    names = [each.name for each in described if each.type in _TYPES and each.unit is None]
    if not names:
        return []
    with files_of(snapshot, table, settings) as files, opened(files.paths) as engine:
        wanted = ", ".join(map(quoted, names))
        sample = engine.table(f"SELECT {wanted} FROM ({files.select}) LIMIT {_SAMPLE}")
    return [name for name in names if 2 <= pc.count_distinct(sample[name], "all").as_py() <= FEW]


def facets(
    snapshot: Snapshot,
    table: str,
    columns: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    where: Sequence[Filter] = (),
    condition: str | None = None,
    most: int = FEW,
) -> list[Facet]:
    """The values of columns among the rows that are chosen; of ``facet_columns`` unless given.

    most: so many values of a column are listed, 1,000 at most; the rows of the others are counted.
    Raises NotFound and UsageError as ``tables.rows``.
    """
    types = describe(snapshot, table, settings).types
    names = facet_columns(snapshot, table, settings) if columns is None else list(columns)
    for name in names:
        if types.get(name) not in _TYPES:
            raise UsageError(
                f"{name!r} is no column of text, truth or whole numbers",
                remedy="use one of " + ", ".join(n for n, kind in types.items() if kind in _TYPES),
            )
    key = ("facets", table, tuple(names), frozen(settings), tuple(where), condition, most)
    return snapshot.kept(
        key, lambda: _facets(snapshot, table, names, settings, where, condition, min(most, 1_000))
    )


def _facets(
    snapshot: Snapshot,
    table: str,
    names: Sequence[str],
    settings: Mapping[str, Any] | None,
    where: Sequence[Filter],
    condition: str | None,
    most: int,
) -> list[Facet]:
    types = describe(snapshot, table, settings).types
    clause, values = where_sql(where, types, check_condition(condition))
    found = []
    with (
        files_of(snapshot, table, settings) as files,
        opened(files.paths, spill=snapshot.scratch.spill, written=bool(condition)) as engine,
    ):
        for name in names:
            chosen = f"SELECT {quoted(name)} AS v FROM ({files.select}){clause}"
            grouped = f"SELECT v, count(*) AS n FROM ({chosen}) GROUP BY v"
            listed = engine.table(
                f"SELECT v, n, sum(n) OVER () AS t FROM ({grouped}) "
                f"ORDER BY n DESC, v NULLS LAST LIMIT {most}",
                values,
            ).to_pylist()
            total = int(listed[0]["t"]) if listed else 0
            pairs = tuple((row["v"], int(row["n"])) for row in listed)
            others = total - sum(n for _, n in pairs)
            found.append(Facet(column=name, values=pairs, others=others))
    return found
