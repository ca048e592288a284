"""The tables of a schema, and which pieces and views of a dataset they have.

This state is stored in the same schema and changes in the same transaction as the rows.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Self

import attrs

from harvest import Dataset, UsageError
from harvest.toolkit.texts import printable

from ..names import RESERVED, identifiers, literal, quoted
from ..pieces import Piece
from .columns import CHANGED, JSON, PLACES, Column, sql_type, wider
from .database import Database

EXPORT: Final = "harvest_export"
TABLES: Final = "harvest_tables"
PIECES: Final = "harvest_pieces"
RUNS: Final = "harvest_runs"
FORMAT: Final = 2

_DECLARED: Final = {
    EXPORT: (
        "Of which dataset, and of which commit of it, the rows of this schema are.",
        "format integer NOT NULL, dataset text NOT NULL, location text NOT NULL, "
        "token text NOT NULL, runs bigint NOT NULL, exported_at timestamptz NOT NULL",
    ),
    TABLES: (
        "The tables of rows: what each is of.",
        '"table" text PRIMARY KEY, name text NOT NULL, kind text NOT NULL, rows bigint NOT NULL, '
        "changed_values bigint NOT NULL, digest text, columns jsonb NOT NULL, token text NOT NULL",
    ),
    PIECES: (
        "What was read of which input is in a table: the input's key, the run that read it, how "
        "many rows it gave, and a digest of the dataset's file that holds them.",
        '"table" text NOT NULL, piece integer NOT NULL, key text NOT NULL, run text NOT NULL, '
        'rows bigint NOT NULL, file text NOT NULL, PRIMARY KEY ("table", piece)',
    ),
    RUNS: (
        "The runs that wrote the dataset, by their number. Null where the record of a run is "
        "missing or does not say it; counts are of what the run itself read.",
        "number bigint PRIMARY KEY, run text NOT NULL, action text, started timestamptz, "
        "ended timestamptz, exit_code bigint, partitions bigint, read bigint, written bigint, "
        "rejected bigint, failed bigint, problem text",
    ),
}
OWN_TABLES: Final = frozenset(_DECLARED)
"""Names that no table of rows has."""

_TABLES_OF: Final = "SELECT tablename::text FROM pg_tables WHERE schemaname = $1"
_COUNTS: Final = ("read", "written", "rejected", "failed")


@attrs.define
class Held:
    """The state of a table.

    name: the record type, or the view with its settings; kind: ``record type`` or ``view``.
    rows, changed_values: their number; digest: of all rows of a view.
    token: of the commit that changed it last.
    files: names of the dataset's files whose rows it has; unused: the next free number of a
        piece.
    """

    table: str
    name: str
    kind: str
    rows: int = 0
    changed_values: int = 0
    digest: str | None = None
    columns: dict[str, Column] = attrs.field(factory=dict)
    token: str = ""
    files: set[str] = attrs.field(factory=set)
    unused: int = 0


@attrs.frozen
class State:
    """The tables of a schema; held: their state by record type or view."""

    _database: Database
    schema: str
    held: dict[str, Held]

    @classmethod
    def read(cls, database: Database, schema: str, dataset: Dataset) -> Self:
        """Read the state of a schema, and create the schema if it is missing.

        Raises UsageError if the schema has another dataset, or tables of another program.
        """
        _declare(database, schema)
        found = database.rows(f"SELECT format, dataset, location FROM {quoted(schema, EXPORT)}")
        for written, of, location in found:
            if written != FORMAT:
                raise UsageError(
                    f"the schema {schema!r} has the format {written}; this harvest writes {FORMAT}",
                    remedy="export into another with --schema NAME, or update hpc-harvest-exports",
                )
            if of != _identity(dataset):
                raise UsageError(
                    f"the schema {schema!r} holds another dataset, {location}",
                    remedy="export into one of its own with --schema NAME",
                )
        return cls(database, schema, _held(database, schema))

    def fit(
        self,
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
                held.columns[column.name] = self._altered(held, present, column)
                reshaped = reshaped or present.shape != column.shape
        name = quoted(self.schema, held.table)
        if is_new:
            places = _places(held)
            declared = [f"{quoted(each.sql_name)} {each.sql_type}" for each in wanted]
            declared += [f"{quoted(each)} {kind}" for each, (kind, _) in places.items()]
            self._database.execute(f"CREATE TABLE {name} ({', '.join(declared)})")
            self._database.execute(f"REVOKE ALL ON {name} FROM PUBLIC")
        elif added:
            new = [f"ADD COLUMN {quoted(each.sql_name)} {each.sql_type}" for each in added]
            self._database.execute(f"ALTER TABLE {name} {', '.join(new)}")
        if is_new or added:
            self._explain(held, *docs())
        return tuple(each.name for each in added), reshaped

    def _altered(self, held: Held, present: Column, wanted: Column) -> Column:
        """Alter a column where values need a wider type; gives it as it is then."""
        sent, table = wider(present.sql_type, wanted.sql_type), quoted(self.schema, held.table)
        if sent is None:
            raise UsageError(
                f"column {wanted.name!r} is {wanted.sql_type} now, and the table {held.table!r} "
                f"has it as {present.sql_type}, which does not keep every value",
                where=held.name,
                remedy=f"drop the table {table}, which the next export makes again, or export into "
                "another schema with --schema NAME",
            )
        if sent != present.sql_type:
            name = quoted(present.sql_name)
            self._database.execute(f"ALTER TABLE {table} ALTER COLUMN {name} TYPE {sent}")
        return Column(wanted.name, present.sql_name, sent, wanted.shape)

    def _explain(self, held: Held, meaning: str, columns: Mapping[str, str]) -> None:
        """Write comments on the table and its columns."""
        name, text = quoted(self.schema, held.table), literal(f"{held.name}: {meaning}")
        self._database.execute(f"COMMENT ON TABLE {name} IS {text}")
        said = {column.sql_name: columns.get(column.name, "") for column in held.columns.values()}
        for column in held.columns.values():
            if column.sql_name != column.name:  # which a name that was shortened does not say
                said[column.sql_name] = f"{column.name}: {said[column.sql_name]}"
        said |= {each: place for each, (_, place) in _places(held).items()}
        for sql_name, text in said.items():
            if text:
                where = quoted(self.schema, held.table, sql_name)
                self._database.execute(f"COMMENT ON COLUMN {where} IS {literal(text)}")

    def commit_of(self, dataset: Dataset) -> None:
        """Record that the rows are those of the dataset's commit, and its runs."""
        database, runs, where = self._database, dataset.manifest.runs, quoted(self.schema, EXPORT)
        database.execute(f"DELETE FROM {where}")
        database.execute(
            f"INSERT INTO {where} VALUES ($1, $2, $3, $4, $5, now())",
            *(FORMAT, _identity(dataset), printable(str(dataset.sink.location))),
            *(dataset.manifest.token, len(runs)),
        )
        where = quoted(self.schema, RUNS)
        last = database.rows(f"SELECT number, run FROM {where} ORDER BY number DESC LIMIT 1")
        known = last[0][0] + 1 if last else 0
        if known > len(runs) or (known and runs[known - 1] != last[0][1]):
            database.execute(f"DELETE FROM {where}")  # the dataset went back, and on from there
            known = 0
        if known < len(runs):
            new = enumerate(dataset.runs(skip=known), start=known)
            rows = [{"number": number, **_run(record)} for number, record in new]
            database.insert(self.schema, RUNS, rows)

    def keep(self, held: Held) -> None:
        """Record the state of a table."""
        self.held[held.name] = held
        columns = json.dumps([attrs.astuple(column) for column in held.columns.values()])
        where = quoted(self.schema, TABLES)
        self._database.execute(f'DELETE FROM {where} WHERE "table" = $1', held.table)
        self._database.execute(
            f"INSERT INTO {where} VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8)",
            *(held.table, held.name, held.kind, held.rows, held.changed_values),
            *(held.digest, columns, held.token),
        )

    def pieces(self, held: Held, files: Collection[str]) -> list[Piece]:
        """The pieces of a table whose rows come from these files, in order of number."""
        if not files:
            return []
        found = self._database.rows(
            f"SELECT key, run, rows, file, piece FROM {quoted(self.schema, PIECES)} "
            'WHERE "table" = $1 AND file = ANY ($2) ORDER BY piece',
            held.table,
            list(files),
        )
        return [Piece(key, run, rows, file, number=n) for key, run, rows, file, n in found]

    def keep_pieces(self, held: Held, gone: Iterable[Piece], come: Iterable[Piece]) -> None:
        """Record which pieces a table no longer has, and which it has now."""
        if numbers := [piece.number for piece in gone]:
            where = f'{quoted(self.schema, PIECES)} WHERE "table" = $1 AND piece = ANY ($2)'
            self._database.execute(f"DELETE FROM {where}", held.table, numbers)
        rows = [
            {"table": held.table, "piece": piece.number, **attrs.asdict(piece)} for piece in come
        ]
        self._database.insert(self.schema, PIECES, rows)

    def forget(self, held: Held) -> None:
        """Drop a table and its state."""
        del self.held[held.name]
        self._database.execute(f"DROP TABLE IF EXISTS {quoted(self.schema, held.table)}")
        for each in (TABLES, PIECES):
            where = quoted(self.schema, each)
            self._database.execute(f'DELETE FROM {where} WHERE "table" = $1', held.table)


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


def _places(held: Held) -> dict[str, tuple[str, str]]:
    """The columns that end a table, as ``PLACES``; rows of a view have no pieces."""
    return PLACES if held.kind == "record type" else {CHANGED: PLACES[CHANGED]}


def numbered(
    pieces: Iterable[Piece], known: Iterable[Piece], unused: int
) -> tuple[list[Piece], set[int]]:
    """Number the pieces: known pieces keep their number, new ones count up from ``unused``.

    Gives the numbered pieces and the numbers of known pieces among them.
    """
    left: dict[tuple[str, str, int], list[int]] = {}
    for piece in known:
        left.setdefault(piece.content, []).append(piece.number)
    found, stay = [], set[int]()
    for piece in pieces:
        if numbers := left.get(piece.content):
            stay.add(number := numbers.pop(0))
        else:
            number, unused = unused, unused + 1
        found.append(attrs.evolve(piece, number=number))
    return found, stay


def _identity(dataset: Dataset) -> str:
    """The identity of a dataset, which stays when it moves: its first run."""
    return str(dataset.manifest.runs[0])


def _declare(database: Database, schema: str) -> None:
    """Create what is missing: the schema, with rights for its owner alone, and tables of state."""
    there = {name for (name,) in database.rows(_TABLES_OF, schema)}
    if there and EXPORT not in there:
        raise UsageError(
            f"the schema {schema!r} holds tables that no export made",
            remedy="export into one of its own with --schema NAME",
        )
    if not database.value("SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema):
        database.execute(f"CREATE SCHEMA {quoted(schema)}")
        database.execute(f"REVOKE ALL ON SCHEMA {quoted(schema)} FROM PUBLIC")
    for table, (meaning, columns) in _DECLARED.items():
        if table in there:
            continue
        name = quoted(schema, table)
        database.execute(f"CREATE TABLE {name} ({columns})")
        database.execute(f"REVOKE ALL ON {name} FROM PUBLIC")
        database.execute(f"COMMENT ON TABLE {name} IS {literal(meaning)}")


def _held(database: Database, schema: str) -> dict[str, Held]:
    """Read the state of the tables that exist."""
    for each in (TABLES, PIECES):
        where = quoted(schema, each)
        database.execute(f'DELETE FROM {where} WHERE "table" NOT IN ({_TABLES_OF})', schema)
    found: dict[str, Held] = {}
    rows = database.rows(
        'SELECT "table", name, kind, rows, changed_values, digest, columns::text, token '
        f"FROM {quoted(schema, TABLES)}"
    )
    for table, name, kind, count, changed, digest, columns, token in rows:
        made = [Column(*each) for each in json.loads(columns)]
        by_name = {column.name: column for column in made}
        found[name] = Held(table, name, kind, count, changed, digest, by_name, token)
    tables = {held.table: held for held in found.values()}
    files = database.rows(
        f'SELECT "table", file, max(piece) FROM {quoted(schema, PIECES)} GROUP BY "table", file'
    )
    for table, file, last in files:
        if table in tables:
            tables[table].files.add(file)
            tables[table].unused = max(tables[table].unused, last + 1)
    return found


def _run(record: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: record.get(name) for name in ("started", "ended")}
    account = record.get("account")
    return {
        **{name: record.get(name) for name in ("run", "action", "exit_code", "partitions")},
        **{name: datetime.fromisoformat(time) if time else None for name, time in times.items()},
        **{name: sum(each[name] for each in account) if account else None for name in _COUNTS},
        "problem": printable(record["problem"]) if record["problem"] else None,
    }
