"""Counts of the values of columns that have few values."""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow.compute as pc

from harvest import UsageError

from .engine.files import files_of
from .engine.guarded import open_engine, quote_name
from .engine.statements import check_condition
from .problems import Refused
from .questions import Question, where_sql
from .state import Snapshot, kept
from .tables import describe

FEW: Final = 30
"""Most values of a column that is counted without being named."""

MOST: Final = 1_000
"""Most values of a column that are listed."""

MOST_COUNTED: Final = 1_000_000
"""Most values of a column whose rows are counted; more need too much memory."""

_SAMPLE: Final = 20_000
"""First rows that are read to see whether a column has too many values."""

_TYPES: Final = ("text", "boolean", "integer")


@kept
def facet_columns(
    snapshot: Snapshot, table: str, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Return the text, boolean and integer columns with 2 to FEW values in the first rows."""
    described = describe(snapshot, table, settings).columns
    names = [each.name for each in described if each.type in _TYPES and each.unit is None]
    if not names:
        return []
    with files_of(snapshot, table, settings) as files, open_engine(files.paths) as engine:
        wanted = ", ".join(map(quote_name, names))
        sample = engine.table(f"SELECT {wanted} FROM ({files.select}) LIMIT {_SAMPLE}")
    return [name for name in names if 2 <= pc.count_distinct(sample[name], "all").as_py() <= FEW]


@kept
def facets(
    snapshot: Snapshot, table: str, asked: Question, most: int = FEW
) -> list[dict[str, Any]]:
    """Count the values of columns among the matching rows; of ``facet_columns`` by default.

    Returns for each ``column`` its ``values``, the most frequent first, each with its ``value``,
    None for unknown, and ``rows``; and the number of ``others``, rows with another value.
    most: values to list for each column, up to MOST.
    Raises as ``tables.rows``, and Refused for a column with more than MOST_COUNTED values.
    """
    types = describe(snapshot, table, asked.settings).types
    few = facet_columns(snapshot, table, asked.settings)
    names = few if asked.columns is None else asked.columns
    for name in names:
        if types.get(name) not in _TYPES:
            raise UsageError(
                f"{name!r} is not a column of text, truth or whole numbers",
                remedy="use one of " + ", ".join(n for n, kind in types.items() if kind in _TYPES),
            )
    clause, values = where_sql(asked.where, types, check_condition(asked.condition))
    found = []
    with (
        files_of(snapshot, table, asked.settings) as files,
        open_engine(
            files.paths, spill=snapshot.scratch.spill, written=asked.condition is not None
        ) as engine,
    ):
        for name in names:
            chosen = f"SELECT {quote_name(name)} AS v FROM ({files.select}){clause}"
            if name not in few:
                counted = f"SELECT approx_count_distinct(v) AS n FROM ({chosen})"
                count = int(engine.table(counted, values)["n"][0].as_py())
                if count > MOST_COUNTED:
                    raise Refused(
                        f"{name!r} has about {count:,} values among these rows, too many to count",
                        where=name,
                        remedy="choose fewer rows, by a condition, or a column with at most "
                        f"{MOST_COUNTED:,} values",
                    )
            grouped = f"SELECT v AS value, count(*) AS rows FROM ({chosen}) GROUP BY v"
            listed = engine.table(
                f"SELECT value, rows, sum(rows) OVER () AS total FROM ({grouped}) "
                f"ORDER BY rows DESC, value NULLS LAST LIMIT {min(most, MOST)}",
                values,
            ).to_pylist()
            others = int(listed[0]["total"]) if listed else 0
            for each in listed:
                del each["total"]
                others -= each["rows"]
            found.append({"column": name, "values": listed, "others": others})
    return found
