"""Bringing a schema to the state of a dataset, in one transaction.

Of a record type the rows that differ are deleted and sent; a view is sent as a whole where its
rows differ.  The commit's token is written with them: whenever an export is cut short, the schema
has the old rows and the old token, and the next export goes on from there.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl
import pyarrow as pa

from harvest import Dataset, DatasetChanged, DatasetError, PartFile, UsageError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.steps import step

from ..chosen import ViewChoice, column_comments, left_out_where_refused, views_named
from ..names import identifiers, quoted
from .columns import CHANGED, FILE, ROW, Column, encoded
from .database import Database, connected
from .pieces import FileName, Places, Stretches, change, groups, of_files
from .state import OWN_TABLES, Held, State
from .tables import Fit, fit, rows_with

__all__ = ["write"]

BATCH_ROWS: Final = 65_536
"""Rows in memory at once: polars' own batches are read far ahead of who takes them."""

SENT_ROWS: Final = 16_384
"""Rows of them that are encoded and sent at once."""

FILES_AT_ONCE: Final = 256


def write(
    dataset: Dataset,
    target: str,
    *,
    schema: str = "harvest",
    views: str | Iterable[str] | None = None,
) -> str:
    """The exporter ``postgresql``; gives what it did in words.

    schema: of the database, for this dataset alone; views: as ``chosen.views_named`` takes them,
    those that the schema has where it is None.
    Raises UsageError for another target, HarvestError where PostgreSQL says no, DatasetChanged
    where another export came first that was of a later commit.
    """
    chosen = views_named(dataset, views)
    _check_schema(schema)
    with connected(target) as database:
        _wait_for_turn(database, schema, dataset)
        export = _Export(dataset, database, State.read(database, schema, dataset))
        export.run(chosen)
        return export.said


def _check_schema(schema: str) -> None:
    if identifiers([schema])[schema] != schema:
        raise UsageError(
            f"{schema!r} cannot be the name of a schema", remedy="give one of 1 to 63 bytes"
        )


def _wait_for_turn(database: Database, schema: str, dataset: Dataset) -> None:
    """Keep others from exporting into the schema until the transaction ends."""
    key = "hashtextextended($1, 0)"
    name = f"harvest:{schema}"
    if database.value(f"SELECT pg_try_advisory_xact_lock({key})", name):
        return
    step("waiting for another export to end")
    database.rows(f"SELECT pg_advisory_xact_lock({key})", name)
    if not dataset.is_current():  # the other may have been of a later commit
        raise DatasetChanged("the dataset has changed since it was opened", remedy="open it again")


@attrs.define
class _Sent:
    """What an export has done so far."""

    rows: int = 0
    gone: int = 0
    changed: int = 0
    tables: int = 0


class _Export:
    def __init__(self, dataset: Dataset, database: Database, state: State):
        self._dataset = dataset
        self._database = database
        self._state = state
        self._schema = state.schema
        self._sent = _Sent()

    @property
    def said(self) -> str:
        """What was done, in a sentence."""
        sent = self._sent
        text = (
            f"{count_in_words(sent.rows, 'row')} sent and {count_in_words(sent.gone, 'row')} "
            f"deleted in {count_in_words(sent.tables, 'table')} of the schema {self._schema!r}"
        )
        if sent.changed:
            values = count_in_words(sent.changed, "value")
            text += f"; {values} that PostgreSQL cannot hold changed, see {CHANGED}"
        return text

    def run(self, views: Sequence[ViewChoice] | None) -> None:
        """Bring all tables to the dataset's state."""
        held = self._state.held
        if views is None:
            views = [ViewChoice.parse(each.name) for each in held.values() if each.kind == "view"]
        kept = {view.label for view in views}
        for each in [each for each in held.values() if each.kind == "view"]:
            if each.name not in kept:
                self._drop(each)
        names = [*self._dataset.record_types, *kept]
        tables = self._tables(names)
        for name in self._dataset.record_types:
            self._export_type(name, tables[name])
        for each in list(held.values()):
            if each.kind == "record type" and each.name not in self._dataset.record_types:
                self._clear(each)
        for view in views:
            self._export_view(view, tables[view.label])
        self._state.commit_of(self._dataset)

    def _tables(self, names: Sequence[str]) -> dict[str, str]:
        """The table of each record type and view: that which it has, or a new one."""
        known = {name: held.table for name, held in self._state.held.items()}
        taken = {*OWN_TABLES, *known.values()}
        new = [name for name in names if name not in known]
        plain = {name: "".join(c if c.isalnum() else "_" for c in name) for name in new}
        for name in new:
            (known[name],) = identifiers([plain[name]], taken).values()
            if known[name] != plain[name]:  # taken or too long: a digest of the name itself
                (known[name],) = identifiers([name], {*taken, name}).values()
            taken.add(known[name])
        return known

    def _drop(self, held: Held) -> None:
        """Take a view's table away."""
        self._sent.gone += held.rows
        self._sent.tables += 1
        self._state.forget(held)

    # --- record types ---

    def _export_type(self, name: str, table: str) -> None:
        dataset, held = self._dataset, self._state.held.get(name)
        step(f"exporting {name}")
        files = dataset.files(name)
        is_new = held is None
        held = held or Held(table, name, "record type")
        kinds = dataset.rows_of(name, files[:1]).collect_schema()
        fitted = self._fit(held, kinds, is_new, lambda: column_comments(dataset, name))
        consolidated = any(file.record_type != name for file in files)
        wanted = _as_one(files, dataset.record_types[name]) if consolidated else of_files(files)
        touched = set[FileName]()
        if fitted.reshaped or (fitted.added and self._has_values(name, files, held, fitted.added)):
            touched.update(held.stretches)
            self._delete(held, held.stretches)
            held.stretches = {}
        made = change(held.stretches, wanted)
        touched |= made.touched
        self._delete(held, made.gone)
        held.stretches = wanted
        held.number(wanted)
        if consolidated and made.new:
            rows = [(held.files[file], *each) for file in made.new for each in made.new[file]]
            self._load(held, dataset[name], fitted.columns, Places(rows))
        elif made.new:
            for some in groups(files, made.new, FILES_AT_ONCE, BATCH_ROWS):
                self._load(held, dataset.rows_of(name, some), fitted.columns, _places(held, some))
        if is_new:
            where, key = quoted(self._schema, held.table), f"{quoted(FILE)}, {quoted(ROW)}"
            self._database.execute(f"ALTER TABLE {where} ADD PRIMARY KEY ({key})")
        if touched or is_new or fitted.added:
            self._keep(held, touched)

    def _fit(
        self,
        held: Held,
        kinds: Mapping[str, Any],
        is_new: bool,
        docs: Callable[[], tuple[str, Mapping[str, str]]],
    ) -> Fit:
        return fit(self._database, self._schema, held, kinds, is_new=is_new, docs=docs)

    def _keep(self, held: Held, touched: Iterable[FileName] = ()) -> None:
        """Put a table that was changed on record."""
        held.token = self._dataset.manifest.token
        self._sent.tables += 1
        self._state.keep(held, touched)

    def _has_values(
        self, name: str, files: Sequence[PartFile], held: Held, columns: tuple[str, ...]
    ) -> bool:
        """Whether rows that the table has already have a value in columns that it had not."""
        there = [file for file in files if (file.path, file.sha256) in held.stretches]
        return bool(there) and rows_with(self._dataset.rows_of(name, there), columns)

    def _delete(self, held: Held, gone: Stretches) -> None:
        """Delete rows, by the table's key: it costs as much as there are."""
        if not gone:
            return
        rows = sum(beyond - first for each in gone.values() for first, beyond in each)
        where = quoted(self._schema, held.table)
        if gone == held.stretches:
            self._database.execute(f"DELETE FROM {where}")
        else:
            for method in ("seqscan", "hashjoin", "mergejoin"):
                self._database.execute(f"SET LOCAL enable_{method} = off")
            numbers, firsts, ends = zip(
                *((held.files[file], *each) for file, some in gone.items() for each in some),
                strict=True,
            )
            self._database.execute(
                f"DELETE FROM {where} USING unnest($1::int[], $2::bigint[], $3::bigint[]) "
                f"AS gone (file, first, beyond) WHERE {FILE} = gone.file "
                f"AND {ROW} >= gone.first AND {ROW} < gone.beyond",
                *map(list, (numbers, firsts, ends)),
            )
            for method in ("seqscan", "hashjoin", "mergejoin"):
                self._database.execute(f"SET LOCAL enable_{method} = on")
        held.rows -= rows
        self._sent.gone += rows

    def _clear(self, held: Held) -> None:
        """The dataset has no rows of a record type any more: its table stays, empty."""
        if held.stretches:
            gone, held.stretches = held.stretches, {}
            self._delete(held, gone)
            self._keep(held, gone)

    def _load(
        self, held: Held, frame: pl.LazyFrame, columns: Sequence[Column], places: Places | None
    ) -> None:
        """Send rows, batch by batch."""
        sent = 0

        def tables() -> Iterator[pa.Table]:
            nonlocal sent
            for batch in _batches(frame):
                numbers = _taken(places, batch.height, held)
                table, changed = encoded(batch, columns, numbers)
                self._sent.changed += changed
                held.changed_values += changed
                sent += batch.height
                yield table

        empty = pl.DataFrame(schema=frame.collect_schema())
        schema = encoded(empty, columns, _taken(places, 0, held))[0].schema
        self._database.load(self._schema, held.table, schema, tables())
        if places is not None and places.left:
            raise _other_rows(held)
        held.rows += sent
        self._sent.rows += sent

    # --- views ---

    def _export_view(self, view: ViewChoice, table: str) -> None:
        """Send a view as a whole, where its rows are others than the table has."""
        step(f"exporting {view.label}")
        dataset, held = self._dataset, self._state.held.get(view.label)
        with tempfile.TemporaryDirectory(prefix="harvest-") as scratch:
            path = Path(scratch) / "view.arrow"
            with left_out_where_refused(view):
                dataset.view(view.name, **view.settings).sink_ipc(path, compression="lz4")
            if not path.exists():
                if held is not None:
                    self._drop(held)
                return
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if held is not None and held.digest == digest:
                return
            frame = pl.scan_ipc(path)
            is_new = held is None
            held = held or Held(table, view.label, "view")
            docs = partial(column_comments, dataset, view.name, view.settings)
            fitted = self._fit(held, frame.collect_schema(), is_new, docs)
            if not is_new:
                self._database.execute(f"DELETE FROM {quoted(self._schema, held.table)}")
                self._sent.gone += held.rows
            held.rows = held.changed_values = 0
            self._load(held, frame, fitted.columns, None)
            held.digest = digest
            self._keep(held)


def _batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """All rows in order, so many at a time."""
    first = 0
    while True:
        batch = frame.slice(first, BATCH_ROWS).collect()
        yield from batch.iter_slices(SENT_ROWS) if batch.height else ()
        if batch.height < BATCH_ROWS:
            return
        first += BATCH_ROWS


def _as_one(files: Sequence[PartFile], rows: int) -> Stretches:
    """The rows of a record type in a consolidated file, which every commit writes as a whole."""
    digest = hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()
    return {("", digest): [(0, rows)]}


def _places(held: Held, files: Sequence[PartFile]) -> Places:
    return Places(
        (held.files[file.path, file.sha256], file.first_row or 0, (file.first_row or 0) + file.rows)
        for file in files
    )


def _taken(places: Places | None, rows: int, held: Held) -> pl.DataFrame | None:
    try:
        return None if places is None else places.take(rows)
    except ValueError as error:
        raise _other_rows(held) from error


def _other_rows(held: Held) -> DatasetError:
    return DatasetError(
        f"the files of {held.name} hold other rows than the manifest says",
        remedy="run `harvest verify DATASET`",
    )
