"""Create tables, alter them for new or wider columns, and write comments."""

from collections.abc import Callable, Mapping
from typing import Any

from harvest import UsageError

from ..names import RESERVED, identifiers, literal, quoted
from ..pieces import PIECE, ROW
from .columns import CHANGED, JSON, PLACES, Column, sql_type, wider
from .database import Database
from .state import Held


def fit(
    database: Database,
    schema: str,
    held: Held,
    kinds: Mapping[str, Any],
    *,
    is_new: bool,
    docs: Callable[[], tuple[str, Mapping[str, str]]],
) -> tuple[tuple[str, ...], bool]:
    """Create or alter a table for rows of these polars types; ``held`` gets their columns.

    Gives the names of new columns, and whether values of a column are written in another shape,
    so that rows that are there no longer fit.
    Raises UsageError for a column whose type cannot keep all values.
    """
    wanted = _wanted(held, kinds)
    added: list[Column] = []
    reshaped = False
    for column in wanted:
        present = held.columns.get(column.name)
        if present is None:
            added.append(column)
            held.columns[column.name] = column
        else:
            held.columns[column.name] = _altered(database, schema, held, present, column)
            reshaped = reshaped or present.shape != column.shape
    if is_new:
        _create(database, schema, held, wanted)
    elif added:
        new = [f"ADD COLUMN {quoted(each.sql_name)} {each.sql_type}" for each in added]
        database.execute(f"ALTER TABLE {quoted(schema, held.table)} {', '.join(new)}")
    if is_new or added:
        _explain(database, schema, held, docs())
    return tuple(each.name for each in added), reshaped


def _wanted(held: Held, kinds: Mapping[str, Any]) -> list[Column]:
    """The columns of the rows, each with its name in the table."""
    known = {name: column.sql_name for name, column in held.columns.items()}
    taken = {*RESERVED, *PLACES, *known.values()}
    names = known | identifiers([name for name in kinds if name not in known], taken)
    wanted = []
    for name, kind in kinds.items():
        try:
            sent = sql_type(kind)
        except UsageError as error:
            raise UsageError(
                error.message, where=f"{held.name}, column {name}", remedy="leave this view out"
            ) from error
        wanted.append(Column(name, names[name], sent, str(kind) if sent == JSON else ""))
    return wanted


def _create(database: Database, schema: str, held: Held, columns: list[Column]) -> None:
    name = quoted(schema, held.table)
    places = [PIECE, ROW, CHANGED] if held.kind == "record type" else [CHANGED]
    declared = [f"{quoted(column.sql_name)} {column.sql_type}" for column in columns]
    declared += [f"{quoted(each)} {PLACES[each][0]}" for each in places]
    database.execute(f"CREATE TABLE {name} ({', '.join(declared)})")
    database.execute(f"REVOKE ALL ON {name} FROM PUBLIC")


def _altered(
    database: Database, schema: str, held: Held, present: Column, wanted: Column
) -> Column:
    """Alter a column where values need a wider type; gives it as it is then."""
    sent = wider(present.sql_type, wanted.sql_type)
    if sent is None:
        raise UsageError(
            f"column {wanted.name!r} is {wanted.sql_type} now, and the table {held.table!r} has "
            f"it as {present.sql_type}, which does not keep every value",
            where=held.name,
            remedy=f"drop the table {quoted(schema, held.table)}, which the next export makes "
            "again, or export into another schema with --schema NAME",
        )
    if sent != present.sql_type:
        database.execute(
            f"ALTER TABLE {quoted(schema, held.table)} "
            f"ALTER COLUMN {quoted(present.sql_name)} TYPE {sent}"
        )
    return Column(wanted.name, present.sql_name, sent, wanted.shape)


def _explain(
    database: Database, schema: str, held: Held, docs: tuple[str, Mapping[str, str]]
) -> None:
    """Write comments on the table and its columns."""
    name, (meaning, columns) = quoted(schema, held.table), docs
    database.execute(f"COMMENT ON TABLE {name} IS {literal(f'{held.name}: {meaning}')}")
    said = {column.sql_name: columns.get(column.name, "") for column in held.columns.values()}
    for column in held.columns.values():
        if column.sql_name != column.name:  # which a name that was shortened does not say
            said[column.sql_name] = f"{column.name}: {said[column.sql_name]}"
    said |= {each: meaning for each, (_, meaning) in PLACES.items()
             if held.kind == "record type" or each == CHANGED}  # fmt: skip
    for sql_name, text in said.items():
        if text:
            where = quoted(schema, held.table, sql_name)
            database.execute(f"COMMENT ON COLUMN {where} IS {literal(text)}")
