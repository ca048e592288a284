"""Bringing Delta tables to the state of a dataset, each in one transaction.

Each row names its *piece*, what one run read of one input.  The pieces that a table has are read
from the table itself, so that its state cannot differ from its rows: whenever an export is cut
short, the next one sees what is there and goes on.  A transaction is tried against the version that
was looked at, and no other: where another export came first, all is looked at again.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from harvest import Dataset, DatasetChanged, DatasetError, HarvestError, UsageError
from harvest.commands import remark
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.steps import step

from ..batches import BATCH_ROWS, batches
from ..chosen import ViewChoice, column_comments, stored_view, views_named
from ..postgresql.columns import PIECE as NUMBER
from ..postgresql.pieces import (
    OTHERS,
    Piece,
    Places,
    files_by_name,
    groups,
    numbered,
    pieces_in,
    places_of,
)
from ..postgresql.tables import rows_with
from .columns import PERIODS, PIECE, arranged, kinds_of, table_schema

__all__ = ["write"]

_TRIES: Final = 20
_FILES_AT_ONCE: Final = 256
_FILE_BYTES: Final = 32 << 20
_TOLD: Final = "harvest"
_LOOKED_BACK: Final = 100


def write(
    dataset: Dataset,
    target: str,
    *,
    views: str | Iterable[str] | None = None,
    partition: str | None = None,
    keep: int | None = None,
    optimize: bool = False,
    check: bool = False,
    storage: str | None = None,
) -> str:
    """Bring the tables below a directory or address to the dataset's state.

    views: as ``chosen.views_named`` takes them; those that are there unless given.
    partition: a column, or ``day``, ``month`` or ``year``.  keep: days of old versions that stay.
    optimize: make few files of many.  check: write nothing, and say what each table is of.
    storage: a TOML file with options of deltalake for an object store.
    Raises UsageError for a table of somebody else, DatasetChanged where another export of a later
    commit came first, HarvestError where the store says no.
    """
    chosen = views_named(dataset, views)
    place = _Place.at(target, storage)
    try:
        export = _Export(dataset, place, partition)
        if check:
            return export.checked()
        export.run(chosen)
        export.tidy(optimize=optimize, keep=keep)
        return export.said
    except DeltaError as error:
        text = str(error).splitlines()[0]
        raise HarvestError(
            f"Delta Lake says: {text}",
            where=target,
            remedy="tables that were not reached are as they were; export again when it is mended",
        ) from error


@attrs.frozen
class _Place:
    """Where tables lie: a directory, or an address in an object store."""

    target: str
    options: dict[str, str] | None

    @classmethod
    def at(cls, target: str, storage: str | None) -> _Place:
        options = None
        if storage is not None:
            try:
                read = tomllib.loads(Path(storage).expanduser().read_text())
            except (OSError, ValueError) as error:  # its text may hold secrets
                raise UsageError(
                    f"this is no file of storage options ({type(error).__name__})",
                    where=storage,
                    remedy='write lines such as AWS_ENDPOINT_URL = "https://..."',
                ) from None
            options = {key: str(value) for key, value in read.items()}
        if "://" not in target:
            path = Path(target).expanduser().absolute()
            if path.exists() and not path.is_dir():
                raise UsageError("this is a file", where=target, remedy="name a directory")
            path.mkdir(parents=True, exist_ok=True)
            target = str(path)
        return cls(target.rstrip("/"), options)

    def uri(self, name: str) -> str:
        """Where the table of a record type or view lies."""
        plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
        if plain != name:
            plain += "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
        return f"{self.target}/{plain}"

    def table(self, uri: str) -> DeltaTable | None:
        """A table in its latest version, None where there is none."""
        try:
            return DeltaTable(uri, storage_options=self.options)
        except TableNotFoundError:
            return None

    def tables(self) -> dict[str, DeltaTable]:
        """All tables that lie here, by their names."""
        store = fs.PyFileSystem(DeltaStorageHandler(self.target, self.options))
        listed = store.get_file_info(fs.FileSelector("", allow_not_found=True))
        names = [each.base_name for each in listed if each.type == fs.FileType.Directory]
        found = [self.table(f"{self.target}/{name}") for name in sorted(names)]
        return {str(each.metadata().name): each for each in found if each is not None}


def _told(table: DeltaTable) -> dict[str, Any]:
    """What the last export said of a table; nothing where its log is cut."""
    said = (commit.get(_TOLD) for commit in table.history(_LOOKED_BACK))
    found = next(filter(None, said), None)
    return json.loads(found) if found else {}


def _kinds(schema: Schema) -> dict[str, str]:
    return {field.name: field.type.to_json() for field in schema.fields}


class _Export:
    def __init__(self, dataset: Dataset, place: _Place, partition: str | None):
        self._dataset = dataset
        self._place = place
        self._partition = partition
        manifest = dataset.manifest
        self._number = len(manifest.runs)
        self._app = f"harvest:{manifest.runs[0]}"
        self._rows = self._gone = self._tables = 0

    @property
    def said(self) -> str:
        """What was done, in a sentence."""
        return (
            f"{count_in_words(self._rows, 'row')} written and "
            f"{count_in_words(self._gone, 'row')} removed in "
            f"{count_in_words(self._tables, 'table')}; commit {self._number} of the dataset"
        )

    def checked(self) -> str:
        """What commit each table is at, a line each."""
        lines = []
        for name, table in self._place.tables().items():
            number, token = table.transaction_version(self._app), _told(table).get("token")
            if number is None:
                lines.append(f"{name}: no table of this dataset")
                continue
            up = "up to date" if token == self._dataset.manifest.token else "not up to date"
            lines.append(
                f"{name}: commit {number} ({token or 'token not recorded'}), {up}; "
                f"version {table.version()}, {count_in_words(table.count(), 'row')}"
            )
        here = {line.partition(": ")[0] for line in lines}
        lines += [
            f"{name}: no table yet" for name in self._dataset.record_types if name not in here
        ]
        return "\n".join(lines)

    def run(self, views: list[ViewChoice] | None) -> None:
        """Bring all tables to the dataset's state."""
        there = self._place.tables()
        for name, table in there.items():
            self._check_turn(name, table)
        held = {n for n, table in there.items() if PIECE not in _kinds(table.schema())}
        if views is None:
            views = [ViewChoice.parse(name) for name in sorted(held)]
        for name in sorted(held - {view.label for view in views}):
            remark(f"the table of the view {name} was not asked for, and stays as it is")
        for name in self._dataset.record_types:
            self._again(name, self._change_type)
        for name in there.keys() - held - self._dataset.record_types.keys():
            self._again(name, self._clear)
        for view in views:
            with stored_view(self._dataset, view) as path:
                if path is not None:
                    self._again(view.label, partial(self._put, view, path))

    def tidy(self, *, optimize: bool, keep: int | None) -> None:
        """Make few files of many, and remove those of old versions, where that is asked for."""
        if optimize or keep is not None:
            for name in self._place.tables():
                self._again(name, partial(self._tidied, optimize, keep))

    def _tidied(self, optimize: bool, keep: int | None, name: str, table: DeltaTable) -> None:
        properties = self._properties(_told(table))
        if optimize:
            table.optimize.compact(commit_properties=properties)
        if keep is not None:
            table.vacuum(keep * 24, dry_run=False, enforce_retention_duration=False, full=True,
                         commit_properties=properties)  # fmt: skip

    # --- one table ---

    def _again(self, name: str, change: Callable[[str, Any], None]) -> None:
        """Change a table; where another export came first, look at it again."""
        step(f"exporting {name}")
        uri = self._place.uri(name)
        for attempt in range(_TRIES):
            table = self._place.table(uri)
            self._check_turn(name, table)
            try:
                return change(name, table)
            except CommitFailedError:
                if attempt == _TRIES - 1:
                    raise
            except DeltaError:
                if table is not None or self._place.table(uri) is None:
                    raise
            step(f"another export was faster; looking at {name} again")
        return None

    def _check_turn(self, name: str, table: DeltaTable | None) -> None:
        number = self._number if table is None else table.transaction_version(self._app)
        if number is None:
            raise UsageError(
                f"the table {name} is none of this dataset",
                where=self._place.uri(name),
                remedy="export into a directory of its own",
            )
        if number > self._number and not self._dataset.is_current():
            raise DatasetChanged(
                "the dataset has changed since it was opened", remedy="open it again"
            )

    def _properties(self, told: Mapping[str, Any]) -> CommitProperties:
        """Of a transaction that stands against the version that was looked at, or not at all."""
        return CommitProperties(
            custom_metadata={_TOLD: json.dumps(told)},
            app_transactions=[Transaction(self._app, self._number)],
            max_commit_retries=0,
        )

    def _commit(self, name: str, table: DeltaTable | None, schema: pa.Schema,
                rows: Iterator[pa.RecordBatch], doc: str, told: Mapping[str, Any],
                **how: Any) -> None:  # fmt: skip
        """One transaction: rows come, and those that ``how`` says leave."""
        written, failed = 0, list[BaseException]()

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal written
            try:
                for batch in rows:
                    written += batch.num_rows
                    yield batch
            except BaseException as error:
                failed.append(error)
                raise

        if table is None:
            how = {"mode": "error", "name": name, "description": doc,
                   "partition_by": self._partitions(schema)}  # fmt: skip
        properties = self._properties({"token": self._dataset.manifest.token, **told})
        try:
            write_deltalake(
                self._place.uri(name) if table is None else table,
                pa.RecordBatchReader.from_batches(schema, counted()),
                storage_options=self._place.options,
                target_file_size=_FILE_BYTES,
                commit_properties=properties,
                **how,
            )
        except Exception:
            if failed:  # who makes the rows raised it, and not the store
                raise failed[0] from None
            raise
        self._rows += written
        self._tables += 1

    def _partitions(self, schema: pa.Schema) -> list[str] | None:
        if self._partition is None or self._partition not in schema.names:
            return None
        kind = schema.field(self._partition).type
        if pa.types.is_nested(kind) or pa.types.is_floating(kind) or pa.types.is_binary(kind):
            raise UsageError(f"a table cannot be divided by {self._partition!r}, which is {kind}")
        return [self._partition]

    def _stamp(self, table: DeltaTable, told: Mapping[str, Any]) -> None:
        """Say that a table, as it is, is of the dataset's commit."""
        said = {"token": self._dataset.manifest.token, **told}
        if _told(table) != said:
            divided, properties = table.metadata().partition_columns, self._properties(said)
            table.create_write_transaction(
                [], "append", table.schema(), divided, commit_properties=properties
            )

    # --- record types ---

    def _schema(self, name: str, divided: str | None) -> tuple[pa.Schema, str, str | None]:
        """The columns of a table, what it is, and the column of its time's periods, if any."""
        kind = self._dataset.record_type(name)
        doc, comments = column_comments(self._dataset, name)
        time = kind.roles.get("time")
        period = divided if divided in PERIODS and time is not None else None
        if period in kind.arrow_schema.names:
            period = None
        more = {} if period is None else {period: f"The {period} of {time} (UTC)."}
        more[PIECE] = "Of which input the row is, as one run read it."
        return table_schema(kinds_of(kind), comments, more), doc, period

    def _change_type(self, name: str, table: DeltaTable | None) -> None:
        """Give a table the rows of pieces that came in place of those of pieces that left."""
        divided = self._partition
        if table is not None:
            columns = table.metadata().partition_columns
            present = columns[0] if columns else None
            if divided not in (None, present) and divided in self._schema(name, divided)[0].names:
                raise UsageError(
                    f"the table {name} is divided by {present or 'no column'}, not by {divided}",
                    remedy="export into another directory",
                )
            divided = present
        schema, doc, period = self._schema(name, divided)
        files = files_by_name(self._dataset.files(name))
        pieces, _ = numbered(pieces_in(self._dataset, name, files), (), 0)
        names = _names(pieces)
        wanted = {names[piece.number]: piece for piece in pieces}
        held = {} if table is None else _held(table)
        same = {n for n, rows in held.items() if n in wanted and wanted[n].rows == rows}
        how: dict[str, Any] = {"mode": "append"}
        if table is not None:
            now, then = _kinds(Schema.from_arrow(schema)), _kinds(table.schema())
            added = [n for n in now if n not in then]
            if any(then[n] != kind for n, kind in now.items() if n in then):
                same, how = set(), {"mode": "overwrite", "schema_mode": "overwrite"}
            elif now.keys() != then.keys():
                how["schema_mode"] = "merge"
                stay = [files[f] for f in {wanted[n].file for n in same}]
                if added and stay and rows_with(self._dataset.rows_of(name, stay), tuple(added)):
                    same = set()
        gone, come = held.keys() - same, wanted.keys() - same
        if table is not None and not (gone or come or "schema_mode" in how):
            return self._stamp(table, {})
        if gone:
            how["mode"] = "overwrite"
        if same and gone:
            both = ", ".join(f"'{each}'" for each in sorted(gone | come))
            how["predicate"] = f"{PIECE} IN ({both})"
        rows = self._rows_of(name, files, pieces, names, come, period)
        self._commit(name, table, schema, (arranged(b, schema) for b in rows), doc, {}, **how)
        self._gone += sum(held[each] for each in gone)
        return None

    def _rows_of(self, name: str, files: Mapping[str, Any], pieces: list[Piece],
                 names: list[str], come: set[str],
                 period: str | None) -> Iterator[pl.DataFrame]:  # fmt: skip
        """The rows of pieces that come, batch by batch, each with its piece."""
        stay = {piece.number for piece in pieces if names[piece.number] not in come}
        by_file: dict[str, list[Piece]] = {}
        for piece in pieces:
            by_file.setdefault(piece.file, []).append(piece)
        fresh = {p.file for p in pieces if p.number not in stay}
        texts = pl.Series(names, dtype=pl.String)
        time = self._dataset.record_type(name).roles.get("time")
        wanted = {each: file for each, file in files.items() if each in fresh}
        for group in groups(wanted, _FILES_AT_ONCE, BATCH_ROWS):
            frame = self._dataset.rows_of(name, list(group.values()))
            places = Places(p for f in group for p in places_of(by_file[f], files[f], stay))
            for batch in batches(frame):
                try:
                    number = places.take(batch.height).get_column(NUMBER)
                except ValueError as error:
                    raise _other_rows(name) from error
                new = number != OTHERS
                if not new.all():
                    batch, number = batch.filter(new), number.filter(new)
                more = [texts.gather(number).alias(PIECE)]
                if period is not None and time is not None:
                    text = batch.get_column(time).dt.strftime(PERIODS[period])
                    more.append(text.alias(period))
                yield batch.with_columns(more)
            if places.left:
                raise _other_rows(name)

    def _clear(self, name: str, table: DeltaTable | None) -> None:
        """The dataset has no rows of a record type any more: its table stays, empty."""
        rows = 0 if table is None else table.count()
        if table is None or not rows:
            return None if table is None else self._stamp(table, {})
        told = {"token": self._dataset.manifest.token}
        table.delete(commit_properties=self._properties(told))
        self._gone += rows
        self._tables += 1
        return None

    # --- views ---

    def _put(self, view: ViewChoice, path: Path, name: str, table: DeltaTable | None) -> None:
        """Write a view as a whole, where its rows are others than the table has."""
        with path.open("rb") as stream:
            told = {"digest": hashlib.file_digest(stream, "sha256").hexdigest()}
        if table is not None and _told(table).get("digest") == told["digest"]:
            return self._stamp(table, told)
        frame = pl.scan_ipc(path)
        doc, comments = column_comments(self._dataset, view.name, view.settings)
        schema = table_schema(kinds_of(frame), comments, {})
        gone = 0 if table is None else table.count()
        rows = (arranged(batch, schema) for batch in batches(frame))
        how = {"mode": "overwrite", "schema_mode": "overwrite"}
        self._commit(name, table, schema, rows, doc, told, **how)
        self._gone += gone
        return None


def _names(pieces: Iterable[Piece]) -> list[str]:
    """What names each piece, also in other exports: its input, its run, and which one it is."""
    seen: dict[tuple[str, str, int], int] = {}
    found = []
    for piece in pieces:
        seen[piece.content] = nth = seen.get(piece.content, 0) + 1
        text = json.dumps([*piece.content, nth])
        found.append(hashlib.sha256(text.encode()).hexdigest()[:32])
    return found


def _held(table: DeltaTable) -> dict[str, int]:
    """How many rows of which piece a table has."""
    found: dict[str, int] = {}
    for batch in table.scan(columns=[PIECE]):
        for name, rows in pl.DataFrame(batch).group_by(PIECE).len().iter_rows():
            found[name] = found.get(name, 0) + rows
    return found


def _other_rows(name: str) -> DatasetError:
    return DatasetError(
        f"the files of {name} hold other rows than the manifest says",
        remedy="run `harvest verify DATASET`",
    )
