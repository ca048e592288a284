"""The tables of a dataset, record types and views: what they are, and their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import polars as pl
import pyarrow as pa

from harvest import UsageError
from harvest.commands.declared import columns_of, columns_of_record
from harvest.errors import suggestion
from harvest.model.frames import polars_schema

from .engine.apart import Apart
from .engine.files import FILE, ROW, Files, files_of
from .engine.guarded import Guarded, opened, quoted
from .filters import Filter, operators, where_sql
from .listing import Table, tables
from .problems import NotFound
from .sql import check_condition
from .state import Snapshot

__all__ = ["Filter", "Table", "describe", "operators", "rows", "tables"]

PAGE_ROWS: Final = 50
MOST_ROWS: Final = 10_000
"""Rows that are given at most at once; ``downloads`` gives all."""


@attrs.frozen(kw_only=True)
class Described:
    """A column: its name, type in words (``integer``, ``number``, ``text``, ``time``, ``boolean``,
    ``date``, ``time of day``, ``bytes``, ``list``, ``map``, ``structure``), unit, meaning, and the
    format in which people are shown its values, as ``harvest.Column`` has it.
    """

    name: str
    type: str
    unit: str | None
    doc: str | None
    format: str | None
    operators: tuple[str, ...]


@attrs.frozen(kw_only=True)
class SettingOf:
    """A setting of a view or report: what it means, the text of its default, and what it may be.

    type: in words; choices: all values, where these are some words.
    """

    name: str
    doc: str
    type: str
    default: str
    choices: tuple[str, ...]
    allowed: str


@attrs.frozen(kw_only=True)
class Description:
    """A table with its columns, the most important first, and the settings that it takes."""

    name: str
    kind: str
    doc: str
    columns: tuple[Described, ...]
    settings: tuple[SettingOf, ...]

    @property
    def types(self) -> dict[str, str]:
        """The type of each column, by name."""
        return {column.name: column.type for column in self.columns}


def check_table(snapshot: Snapshot, table: str) -> None:
    """Raise NotFound where the dataset's plugins declare no record type or view of this name."""
    plugins = snapshot.dataset.plugins
    known = {*plugins.record_types(), *plugins.views}
    if table not in known and table not in snapshot.dataset.record_types:
        near = {each.name for each in tables(snapshot)}
        raise NotFound(
            f"no record type and no view is named {table!r}", remedy=suggestion(table, near)
        )


def describe(
    snapshot: Snapshot, table: str, settings: Mapping[str, Any] | None = None
) -> Description:
    """What a table's rows and columns mean; settings of a view by name, as text or values.

    Raises NotFound where nothing has this name, UsageError for settings that it does not take.
    """
    check_table(snapshot, table)
    key = ("describe", table, frozen(settings))
    return snapshot.kept(key, lambda: _describe(snapshot, table, settings or {}))


def _describe(snapshot: Snapshot, table: str, settings: Mapping[str, Any]) -> Description:
    dataset, plugins = snapshot.dataset, snapshot.dataset.plugins
    is_view = table in plugins.views
    if not is_view and settings:
        raise UsageError(f"{table} is a record type, which has no settings")
    if is_view:
        schema = dataset.view(table, **settings).collect_schema()
        declared = columns_of(plugins.views[table], plugins)
        doc = plugins.views[table].doc
    else:
        kind = dataset.record_type(table)
        schema = pl.Schema(polars_schema(kind))
        declared, doc = columns_of_record(kind), kind.doc
    listed = [*(n for n in declared if n in schema), *(n for n in schema if n not in declared)]
    columns = []
    for name in listed:
        column, type_ = declared.get(name), _type(schema[name])
        columns.append(
            Described(
                name=name,
                type=type_,
                unit=column.unit if column else None,
                doc=column.doc if column else None,
                format=column.format if column else None,
                operators=operators(type_),
            )
        )
    return Description(
        name=table,
        kind="view" if is_view else "record type",
        doc=doc,
        columns=tuple(columns),
        settings=settings_in_words(plugins.views[table]) if is_view else (),
    )


def settings_in_words(spec: Any) -> tuple[SettingOf, ...]:
    """The settings of a view or report, as forms and documents show them."""
    return tuple(
        SettingOf(
            name=name,
            doc=each.doc,
            type=getattr(each.type, "__name__", str(each.type)),
            default="" if each.default is None else _text(each.default),
            choices=each.choices,
            allowed=each.allowed,
        )
        for name, each in spec.settings.items()
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


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


def frozen(settings: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Settings as a key."""
    return tuple(sorted((key, str(value)) for key, value in (settings or {}).items()))


@attrs.frozen
class Choice:
    """Which rows are wanted, in which order.

    where: conditions on columns, all of which hold; condition: one in SQL, besides.
    sort: columns, the first first, each with whether its largest values come first; what is not
    known comes last.  Equal rows, and all without it, stand in the dataset's order.
    """

    where: tuple[Filter, ...] = ()
    sort: tuple[tuple[str, bool], ...] = ()
    condition: str | None = None


def rows(
    snapshot: Snapshot,
    table: str,
    settings: Mapping[str, Any] | None = None,
    where: Sequence[Filter] = (),
    sort: Sequence[tuple[str, bool]] = (),
    offset: int = 0,
    limit: int = PAGE_ROWS,
    condition: str | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[pa.Table, int]:
    """Rows of a table, as ``Choice`` says, and how many rows there are that fit.

    offset: how many of these are left out before; limit: how many are given, at most MOST_ROWS.
    columns: only these, in this order.
    Raises NotFound, or UsageError for a column, operator, value or setting that does not fit.
    """
    if offset < 0 or not 0 <= limit <= MOST_ROWS:
        raise UsageError(
            f"rows {offset} to {offset + limit} are not given at once",
            remedy=f"ask for at most {MOST_ROWS} rows, from 0",
        )
    choice = Choice(tuple(where), tuple(sort), condition)
    with files_of(snapshot, checked(snapshot, table), settings) as files:
        places = [FILE, ROW] if choice.sort else None
        sql, values = query(snapshot, table, settings, files, choice, columns, places)
        with opened(
            files.paths, spill=snapshot.scratch.spill, written=condition is not None
        ) as engine:
            if choice.sort:
                found = _sorted(engine, files, sql, values, f"LIMIT {limit} OFFSET {offset}")
                found = found.select(list(columns or files.columns))
            else:
                found = engine.table(f"{sql} LIMIT {limit} OFFSET {offset}", values)
            return found, _count(snapshot, table, settings, files, choice, engine)


def _sorted(
    engine: Guarded | Apart, files: Files, sql: str, values: Sequence[Any], limit: str
) -> pa.Table:
    """Some of the rows in an order: first which, by their places alone, and then these rows."""
    places = engine.table(f"{sql} {limit}", values)
    wanted = list(zip(places[FILE].to_pylist(), places[ROW].to_pylist(), strict=True))
    picked = engine.table(files.picked(wanted))
    order = {place: number for number, place in enumerate(wanted)}
    there = zip(picked[FILE].to_pylist(), picked[ROW].to_pylist(), strict=True)
    numbers = [order[place] for place in there]
    ordered = sorted(range(len(numbers)), key=numbers.__getitem__)
    return picked.take(pa.array(ordered, pa.int64()))


def checked(snapshot: Snapshot, table: str) -> str:
    """The table's name, of one that there is."""
    check_table(snapshot, table)
    return table


def query(
    snapshot: Snapshot,
    table: str,
    settings: Mapping[str, Any] | None,
    files: Files,
    choice: Choice,
    columns: Sequence[str] | None = None,
    places: Sequence[str] | None = None,
) -> tuple[str, list[Any]]:
    """The SQL of the rows that are chosen, with its values; of ``places`` alone, where given."""
    types = describe(snapshot, table, settings).types
    for name in (*(columns or ()), *(name for name, _ in choice.sort)):
        if name not in types:
            raise UsageError(f"no column is named {name!r}", remedy=suggestion(name, types))
    wanted = ", ".join(quoted(name) for name in (places or columns or files.columns))
    clause, values = where_sql(choice.where, types, check_condition(choice.condition))
    order = [f"{quoted(name)} {'DESC' if down else 'ASC'} NULLS LAST" for name, down in choice.sort]
    if order:
        order += [quoted(FILE), quoted(ROW)]
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    return f"SELECT {wanted} FROM ({files.select}){clause}{ordered}", values


def _count(
    snapshot: Snapshot,
    table: str,
    settings: Mapping[str, Any] | None,
    files: Files,
    choice: Choice,
    engine: Any,
) -> int:
    """How many rows fit; counted once."""
    if not choice.where and not choice.condition and table in snapshot.dataset.record_types:
        return snapshot.dataset.record_types[table]
    types = describe(snapshot, table, settings).types
    clause, values = where_sql(choice.where, types, choice.condition)

    def count() -> int:
        found = engine.table(f"SELECT count(*) AS n FROM ({files.select}){clause}", values)
        return int(found["n"][0].as_py())

    key = ("count", table, frozen(settings), choice.where, choice.condition)
    return snapshot.kept(key, count)
