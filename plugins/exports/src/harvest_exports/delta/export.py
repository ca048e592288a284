"""Update Delta tables to the state of a dataset, one transaction per table.

Each row names its *piece*: the rows that one run read from one input.  An export reads from each
table which pieces it has, so its state always matches its rows.  After an export is killed, the
next one continues from there.  A transaction applies only to the table version that was read; if
another export has committed since, the table is read again.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl
import pyarrow as pa
from deltalake import (
    CommitProperties,
    DeltaTable,
    QueryBuilder,
    Schema,
    Transaction,
    write_deltalake,
)
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from harvest import Dataset, UsageError
from harvest.commands import remark
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.steps import step

from ..batches import Written, batches, check_current, streamed
from ..chosen import ViewChoice, column_comments, stored_view
from ..pieces import PIECE, Piece, files_by_name, pieces_in, rows_of, rows_with
from .columns import arranged, in_arrow, stored, table_schema

_TRIES: Final = 20
_METADATA: Final = "harvest"
_ANEW: Final = {"mode": "overwrite", "schema_mode": "overwrite"}
_PERIODS: Final = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}


class Export:
    """An export of a dataset into the tables below a directory or URL."""

    def __init__(self, dataset: Dataset, target: str, options: dict[str, str] | None,
                 partition: str | None):  # fmt: skip
        local = "://" not in target
        self._target = str(Path(target).expanduser().absolute()) if local else target.rstrip("/")
        self._options = options
        self._dataset = dataset
        self._partition = partition
        self._token = dataset.manifest.token
        self._number = len(dataset.manifest.runs)
        self._app = f"harvest:{dataset.manifest.runs[0]}"
        self._written = Written()

    def checked(self) -> str:
        """Say which commit each table has, one line per table."""
        lines = {name: f"{name}: no table yet" for name in self._dataset.record_types}
        for name, table in self._tables().items():
            number, token = table.transaction_version(self._app), _recorded(table).get("token")
            up = "up to date" if token == self._token else "not up to date"
            lines[name] = f"{name}: a table of another dataset"
            if number is not None:
                lines[name] = (
                    f"{name}: commit {number} ({token or 'token not recorded'}), {up}; "
                    f"version {table.version()}, {count_in_words(table.count(), 'row')}"
                )
        return "\n".join(lines.values())

    def run(self, views: list[ViewChoice] | None) -> str:
        """Update all tables to the dataset's state; gives a summary."""
        if self._partition is not None:
            self._check_partition(self._partition, views or ())
        there = self._tables()
        for name, table in there.items():
            self._check_turn(name, table)
        held = [name for name, table in there.items() if PIECE not in _kinds(table.schema())]
        views = [ViewChoice.parse(name) for name in held] if views is None else views
        for name in sorted({*held} - {view.label for view in views}):
            remark(f"the table of the view {name} is not exported, and stays as it is")
        for name in dict.fromkeys([*self._dataset.record_types, *there]):
            if name not in held:
                self._again(name, self._bring)
        for view in views:
            with stored_view(self._dataset, view) as found:
                if found is not None:
                    self._again(view.label, partial(self._put, view, *found))
        return f"{self._written}; commit {self._number} of the dataset"

    def _check_partition(self, divided: str, views: Iterable[ViewChoice]) -> None:
        names = [self._layout(name, divided)[0].names for name in self._dataset.record_types]
        names += [column_comments(self._dataset, v.name, v.settings)[1] for v in views]
        if not any(divided in columns for columns in names):
            raise UsageError(
                f"no table has a column {divided!r} to partition by",
                remedy=f"name a column, or {', '.join(_PERIODS)} where there is a time",
            )

    def tidy(self, *, optimize: bool, keep: int | None) -> None:
        """Merge small files and remove old versions, as requested."""

        def change(_: str, table: Any) -> None:
            properties = self._properties(_recorded(table))
            if optimize:
                table.optimize.compact(commit_properties=properties)
            if keep is not None:
                table.vacuum(keep * 24, dry_run=False, enforce_retention_duration=False,
                             full=True, commit_properties=properties)  # fmt: skip

        for name in self._tables():
            self._again(name, change)

    def _table(self, name: str) -> DeltaTable | None:
        uri, options = self._uri(name), self._options
        there = DeltaTable.is_deltatable(uri, options)
        return DeltaTable(uri, storage_options=options) if there else None

    def _tables(self) -> dict[str, DeltaTable]:
        """Open all tables of the target, by name."""
        try:
            store = fs.PyFileSystem(DeltaStorageHandler(self._target, self._options))
        except TableNotFoundError:  # nor a directory
            return {}
        listed = store.get_file_info(fs.FileSelector("", allow_not_found=True))
        names = (each.base_name for each in listed if each.type == fs.FileType.Directory)
        found = map(self._table, sorted(names))
        return {str(each.metadata().name): each for each in found if each is not None}

    def _uri(self, name: str) -> str:
        """The address of the table of a record type or view."""
        plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
        if plain != name:
            plain += "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
        return f"{self._target}/{plain}"

    def _again(self, name: str, change: Callable[[str, DeltaTable | None], None]) -> None:
        """Change a table; if another export commits first, read the table again and retry."""
        step(f"exporting {name}")
        for left in reversed(range(_TRIES)):
            table = self._table(name)
            self._check_turn(name, table)
            try:
                change(name, table)
                break
            except DeltaError:
                now = self._table(name)
                if not left or (table and table.version()) == (now and now.version()):
                    raise

    def _check_turn(self, name: str, table: DeltaTable | None) -> None:
        number = self._number if table is None else table.transaction_version(self._app)
        if number is None:
            raise UsageError(
                f"the table {name} is of another dataset",
                where=self._uri(name),
                remedy="export into a directory of its own",
            )
        if number > self._number:
            check_current(self._dataset)

    def _properties(self, recorded: Mapping[str, Any]) -> CommitProperties:
        """Properties of a transaction, which fails if another one has committed meanwhile."""
        return CommitProperties(
            custom_metadata={_METADATA: json.dumps(recorded)},
            app_transactions=[Transaction(self._app, self._number)],
            max_commit_retries=0,
        )

    def _commit(self, name: str, table: DeltaTable | None, schema: pa.Schema, doc: str,
                rows: Iterable[pa.Table], come: int, gone: int,
                how: Mapping[str, Any], **recorded: str) -> None:  # fmt: skip
        """Add rows and remove those that ``how`` selects, in one transaction."""
        if table is None:
            divided = [self._partition] if self._partition in schema.names else None
            how = {"name": name, "description": doc, "partition_by": divided}
        with streamed(schema, arranged(rows, schema)) as reader:
            write_deltalake(
                self._uri(name) if table is None else table,
                reader,
                storage_options=self._options,
                target_file_size=32 << 20,
                writer_properties=stored(schema),
                commit_properties=self._properties({"token": self._token, **recorded}),
                **how,
            )
        self._written.rows += come
        self._written.removed += gone
        self._written.tables += bool(come or gone)

    def _layout(self, name: str, divided: str | None) -> tuple[pa.Schema, str, list[pl.Expr]]:
        """The schema of a table, its description, and expressions for partition columns."""
        kind = self._dataset.record_type(name)
        doc, comments = column_comments(self._dataset, name)
        fields, time, made = kind.arrow_schema, kind.roles.get("time"), []
        if divided in _PERIODS and divided not in fields.names and time is not None:
            fields = fields.append(pa.field(divided, pa.string()))
            comments[divided] = f"The {divided} of {time} (UTC)."
            made.append(pl.col(time).dt.strftime(_PERIODS[divided]).alias(divided))
        comments[PIECE] = "The input of the row, as one run read it."
        return table_schema(fields.append(pa.field(PIECE, pa.int64())), comments), doc, made

    def _bring(self, name: str, table: DeltaTable | None) -> None:
        """Replace the rows of pieces that left the dataset by those of new pieces."""
        divided = self._partition
        if table is not None:
            present = next(iter(table.metadata().partition_columns), None)
            if divided not in (None, present) and divided in self._layout(name, divided)[0].names:
                raise UsageError(
                    f"the table {name} is divided by {present or 'no column'}, not by {divided}",
                    remedy="export into another directory",
                )
            divided = present
        schema, doc, made = self._layout(name, divided)
        files = files_by_name(self._dataset.files(name))
        found = pieces_in(self._dataset, name, files)
        pieces = [attrs.evolve(piece, number=_number(piece)) for piece in found]
        wanted: Counter[int] = Counter()
        for piece in pieces:
            wanted[piece.number] += piece.rows
        held = {} if table is None else _held(table)
        ours = None not in held  # a row without a piece was added by another program
        same = {number for number, rows in held.items() if ours and wanted[number] == rows}
        how: dict[str, Any] = {"mode": "append"}
        if table is not None:
            now, then = _kinds(Schema.from_arrow(schema)), _kinds(table.schema())
            if any(then.get(column, kind) != kind for column, kind in now.items()):
                same, how = set(), dict(_ANEW)
            elif now.keys() != then.keys():
                how["schema_mode"] = "merge"
                added = tuple(now.keys() - then.keys())
                stay = [files[each] for each in {p.file for p in pieces if p.number in same}]
                if added and stay and rows_with(self._dataset.rows_of(name, stay), added):
                    same = set()
        gone, come = held.keys() - same, wanted.keys() - same
        changed = gone or come or "schema_mode" in how
        if table is not None and not changed and _recorded(table) == {"token": self._token}:
            return
        if gone:
            how["mode"] = "overwrite"
        if same and gone:
            how["predicate"] = f"{PIECE} IN ({', '.join(map(str, sorted(gone | come)))})"
        rows = (  # polars would copy all columns to have one more in the same chunks
            in_arrow(batch.with_columns(made)).append_column(PIECE, at[PIECE].to_arrow())
            for batch, at in rows_of(self._dataset, name, files, pieces, same)
        )
        came, left = sum(wanted[each] for each in come), sum(held[each] for each in gone)
        self._commit(name, table, schema, doc, rows, came, left, how)

    def _put(self, view: ViewChoice, frame: pl.LazyFrame, digest: str,
             name: str, table: DeltaTable | None) -> None:  # fmt: skip
        """Write all rows of a view, if they differ from the rows of the table."""
        recorded = {} if table is None else _recorded(table)
        if recorded == {"token": self._token, "digest": digest}:
            return
        kinds = frame.collect_schema().to_frame().to_arrow(compat_level=pl.CompatLevel.newest())
        doc, comments = column_comments(self._dataset, view.name, view.settings)
        schema = table_schema(kinds.schema, comments)
        come = int(frame.select(pl.len()).collect().item())
        gone, how = 0 if table is None else table.count(), _ANEW
        if recorded.get("digest") == digest:
            frame, come, gone, how = frame.clear(), 0, 0, {"mode": "append"}
        rows = map(in_arrow, batches(frame))
        self._commit(name, table, schema, doc, rows, come, gone, how, digest=digest)


def _kinds(schema: Schema) -> dict[str, str]:
    return {field.name: field.type.to_json() for field in schema.fields}


def _recorded(table: DeltaTable) -> dict[str, str]:
    """Read the metadata of the last export; empty if the table's log no longer has it."""
    said = (commit.get(_METADATA) for commit in table.history(100))
    found = next(filter(None, said), None)
    return json.loads(found) if found else {}


def _number(piece: Piece) -> int:
    """Number a piece by a hash of its input and run, the same in each export."""
    text = json.dumps([piece.key, piece.run])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True)


def _held(table: DeltaTable) -> Mapping[int, int]:
    """Count the rows of a table by piece."""
    query = f"SELECT {PIECE}, count(*) FROM held GROUP BY {PIECE}"
    counted = QueryBuilder().register("held", table).execute(query)
    return dict(pl.DataFrame(counted.read_all()).iter_rows())
