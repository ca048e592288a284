"""The tables of a dataset, record types and views: descriptions, rows and counts of values."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import Column, UsageError
from harvest.commands.declared import columns_of, columns_of_record
from harvest.errors import UnknownTypeError, suggestion
from harvest.model.frames import polars_schema

from .engine.apart import Apart
from .engine.files import FILE, ROW, Files, files_of
from .engine.guarded import Guarded, open_engine, quote_name
from .engine.statements import check_condition
from .problems import NotFound, Refused
from .questions import OPERATORS, Question, kind_of, where_sql
from .settings import settings_in_words, settings_key
from .state import Snapshot, kept

MOST_ROWS: Final = 10_000
"""Largest number of rows of one answer; ``downloads`` gives all."""

FEW: Final = 30
"""Most values of a column that is counted without being named."""

MOST_LISTED: Final = 1_000
"""Most values of a column that are listed."""

MOST_COUNTED: Final = 1_000_000
"""Most values of a column whose rows are counted; more need too much memory."""

_SAMPLE: Final = 20_000
"""First rows that are read to see whether a column has too many values."""

_COUNTABLE: Final = ("text", "boolean", "integer")


@attrs.frozen(kw_only=True)
class Table:
    """A record type or view of a dataset.

    kind: ``record type`` or ``view``; rows: None for a view, which is not computed for it.
    doc: what a row is; first, last: the time span of a record type with times.
    """

    name: str
    kind: str
    rows: int | None
    doc: str
    first: datetime | None = None
    last: datetime | None = None


@kept
def tables(snapshot: Snapshot) -> list[Table]:
    """List record types that have rows, by name, and the views that the dataset can serve."""
    dataset, plugins = snapshot.dataset, snapshot.dataset.plugins
    types = plugins.record_types(dataset.record_types)
    held = [
        Table(
            name=each.record_type,
            kind="record type",
            rows=each.rows,
            doc=types[each.record_type].doc if each.record_type in types else "",
            first=each.first,
            last=each.last,
        )
        for each in dataset.holdings()
    ]
    views = [
        Table(name=name, kind="view", rows=None, doc=plugins.views[name].doc)
        for name in dataset.views()
    ]
    return [*held, *views]


@attrs.frozen
class Described:
    """A column: name, type in words (``integer``, ``number``, ``text``, ``time``, ``boolean``,
    ``date``, ``time of day``, ``bytes``, ``list``, ``map``, ``structure``), unit, meaning, and its
    format as in ``harvest.Column``.
    """

    name: str
    type: str
    unit: str | None
    doc: str | None
    format: str | None
    operators: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The kind of its type, which determines the operators."""
        return kind_of(self.type)


@attrs.frozen(kw_only=True)
class Description:
    """A table with its columns, the most important first, and its settings."""

    name: str
    kind: str
    doc: str
    columns: tuple[Described, ...]
    settings: list[dict[str, Any]]

    @property
    def types(self) -> dict[str, str]:
        """The type of each column, by name."""
        return {column.name: column.type for column in self.columns}


def check_table(snapshot: Snapshot, table: str) -> None:
    """Raise NotFound where the dataset's plugins declare no record type or view of this name."""
    plugins = snapshot.dataset.plugins
    known = {*plugins.record_type_names(), *plugins.views}
    if table not in known and table not in snapshot.dataset.record_types:
        near = {each.name for each in tables(snapshot)}
        raise NotFound(
            f"no record type and no view is named {table!r}", remedy=suggestion(table, near)
        )


@kept
def describe(
    snapshot: Snapshot, table: str, settings: Mapping[str, Any] | None = None
) -> Description:
    """Describe a table's rows and columns; settings: of a view by name, as text or values.

    Raises NotFound for an unknown name, UsageError for settings that the table does not take.
    """
    check_table(snapshot, table)
    view = snapshot.dataset.plugins.views.get(table)
    if view is not None:
        schema, doc = snapshot.view(table, settings or {}).collect_schema(), view.doc
    elif settings:
        raise UsageError(f"{table} is a record type, which has no settings")
    else:
        kind = snapshot.dataset.record_type(table)
        schema, doc = pl.Schema(polars_schema(kind)), kind.doc
    declared = declared_columns(snapshot, table)
    listed = [*(n for n in declared if n in schema), *(n for n in schema if n not in declared)]
    columns = []
    for name in listed:
        column, type_ = declared.get(name) or Column(name), _type(schema[name])
        fitting = OPERATORS[kind_of(type_)]
        columns.append(Described(name, type_, column.unit, column.doc, column.format, fitting))
    return Description(
        name=table,
        kind="view" if view else "record type",
        doc=doc,
        columns=tuple(columns),
        settings=settings_in_words(view) if view else [],
    )


def declared_columns(snapshot: Snapshot, table: str) -> Mapping[str, Column]:
    """Return the declared columns of a record type or view, by name; none of an unknown one."""
    plugins = snapshot.dataset.plugins
    if table in plugins.views:
        return columns_of(plugins.views[table], plugins)
    try:
        return columns_of_record(snapshot.dataset.record_type(table))
    except UnknownTypeError:
        return {}


def _type(kind: pl.DataType) -> str:
    if kind.is_integer():
        return "integer"
    if kind.is_numeric() or kind == pl.Duration:
        return "number"
    if isinstance(kind, pl.List | pl.Array):
        inner = kind.inner
        is_map = isinstance(inner, pl.Struct) and [f.name for f in inner.fields] == ["key", "value"]
        return "map" if is_map else "list"
    words: dict[Any, str] = {
        pl.Datetime: "time",
        pl.Struct: "structure",
        pl.Boolean: "boolean",
        pl.Date: "date",
        pl.Time: "time of day",
        pl.Binary: "bytes",
    }
    return words.get(kind.base_type(), "text")


def rows(snapshot: Snapshot, table: str, asked: Question) -> tuple[pa.Table, int]:
    """Return at most MOST_ROWS rows that a question asks for, and the number of matches.

    Raises NotFound, or UsageError for a column, operator, value or setting that does not fit.
    """
    offset, limit = asked.offset, MOST_ROWS if asked.limit is None else asked.limit
    if offset < 0 or not 0 <= limit <= MOST_ROWS:
        raise UsageError(
            f"rows {offset} to {offset + limit} are too many for one answer",
            remedy=f"ask for at most {MOST_ROWS} rows, from 0",
        )
    types, held = describe(snapshot, table, asked.settings).types, snapshot.dataset.record_types
    with opened(snapshot, table, asked) as (files, engine):
        sql, values = query(types, files, asked, [FILE, ROW] if asked.sort else None)
        if asked.sort:
            found = _sort(engine, files, sql, values, f"LIMIT {limit} OFFSET {offset}")
            found = found.select(list(asked.columns or files.types))
        else:
            found = engine.table(f"{sql} LIMIT {limit} OFFSET {offset}", values)
        if not asked.where and not asked.condition and table in held:
            return found, held[table]
        clause, values = where_sql(asked.where, types, asked.condition)
        sql = f"SELECT count(*) AS n FROM ({files.select}){clause}"
        key = ("count", table, settings_key(asked.settings), asked.where, asked.condition)
        return found, snapshot.keep(key, lambda: int(engine.table(sql, values)["n"][0].as_py()))


@contextlib.contextmanager
def opened(
    snapshot: Snapshot, table: str, asked: Question, *, whole: bool = False
) -> Iterator[tuple[Files, Guarded | Apart]]:
    """Give the files of the rows that a question is about, and an engine that reads only these.

    whole: as in ``open_engine``.
    """
    spill, written = snapshot.scratch.spill, asked.condition is not None
    with (
        files_of(snapshot, table, asked.settings) as files,
        open_engine(files.paths, spill=spill, written=written, whole=whole) as engine,
    ):
        yield files, engine


def _sort(
    engine: Guarded | Apart, files: Files, sql: str, values: Sequence[Any], limit: str
) -> pa.Table:
    """Sort by reading first only the places of rows in order, then the rows at these places."""
    places = engine.table(f"{sql} {limit}", values)
    wanted = list(zip(places[FILE].to_pylist(), places[ROW].to_pylist(), strict=True))
    picked = engine.table(files.pick(wanted))
    there = zip(picked[FILE].to_pylist(), picked[ROW].to_pylist(), strict=True)
    at = {place: number for number, place in enumerate(there)}
    return picked.take(pa.array([at[place] for place in wanted], pa.int64()))


def query(
    types: Mapping[str, str], files: Files, asked: Question, places: Sequence[str] | None = None
) -> tuple[str, list[Any]]:
    """Return the SQL of all matching rows in order, and its values.

    types: of the table's columns, by name; files: of its rows.
    places: columns of ``files`` to read instead of the question's columns.
    """
    for name in (*(asked.columns or ()), *(name for name, _ in asked.sort)):
        if name not in types:
            raise UsageError(f"no column is named {name!r}", remedy=suggestion(name, types))
    wanted = ", ".join(quote_name(name) for name in (places or asked.columns or files.types))
    clause, values = where_sql(asked.where, types, check_condition(asked.condition))
    order = [
        f"{quote_name(name)} {'DESC' if down else 'ASC'} NULLS LAST" for name, down in asked.sort
    ]
    if order:
        order += [quote_name(FILE), quote_name(ROW)]
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    return f"SELECT {wanted} FROM ({files.select}){clause}{ordered}", values


@kept
def facet_columns(
    snapshot: Snapshot, table: str, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Return the text, boolean and integer columns with 2 to FEW values in the first rows."""
    described = describe(snapshot, table, settings).columns
    names = [each.name for each in described if each.type in _COUNTABLE and each.unit is None]
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
    most: values to list for each column, up to MOST_LISTED.
    Raises as ``tables.rows``, and Refused for a column with more than MOST_COUNTED values.
    """
    types = describe(snapshot, table, asked.settings).types
    few = facet_columns(snapshot, table, asked.settings)
    names = few if asked.columns is None else asked.columns
    for name in names:
        if types.get(name) not in _COUNTABLE:
            raise UsageError(
                f"{name!r} is not a column of text, truth or whole numbers",
                remedy="use one of "
                + ", ".join(n for n, kind in types.items() if kind in _COUNTABLE),
            )
    clause, values = where_sql(asked.where, types, check_condition(asked.condition))
    found = []
    with opened(snapshot, table, asked) as (files, engine):
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
                f"ORDER BY rows DESC, value NULLS LAST LIMIT {min(most, MOST_LISTED)}",
                values,
            ).to_pylist()
            others = int(listed[0]["total"]) if listed else 0
            for each in listed:
                del each["total"]
                others -= each["rows"]
            found.append({"column": name, "values": listed, "others": others})
    return found
