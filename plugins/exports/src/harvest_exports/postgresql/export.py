"""Bringing a schema to the state of a dataset, in one transaction.

Of a record type the rows that differ are deleted and sent; a view is sent as a whole where its
rows differ.  The commit's token is written with them: whenever an export is cut short, the schema
has the old rows and the old token, and the next export goes on from there.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import polars as pl
import pyarrow as pa

from harvest import Dataset, PartFile, UsageError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.steps import step

from ..batches import batches
from ..chosen import (
    ViewChoice,
    Written,
    check_current,
    column_comments,
    stored_view,
    views_named,
)
from ..names import identifiers, quoted
from ..pieces import PIECE, ROW, Piece, files_by_name, numbered, pieces_in, rows_of, rows_with
from .columns import CHANGED, Column, encoded
from .database import Database, connected
from .state import OWN_TABLES, Held, State
from .tables import Fit, fit

SENT_ROWS: Final = 16_384
"""Rows that are encoded and sent together."""

_Rows: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]
"""Rows, and what names them: their piece and their number in it; views have none."""


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
    if identifiers([schema])[schema] != schema:
        raise UsageError(
            f"{schema!r} cannot be the name of a schema", remedy="give one of 1 to 63 bytes"
        )
    with connected(target) as database:
        _wait_for_turn(database, schema, dataset)
        export = _Export(dataset, database, State.read(database, schema, dataset))
        export.run(chosen)
        return export.said


def _wait_for_turn(database: Database, schema: str, dataset: Dataset) -> None:
    """Keep others from exporting into the schema until the transaction ends."""
    key = "hashtextextended($1, 0)"
    name = f"harvest:{schema}"
    if database.value(f"SELECT pg_try_advisory_xact_lock({key})", name):
        return
    step("waiting for another export to end")
    database.rows(f"SELECT pg_advisory_xact_lock({key})", name)
    check_current(dataset)  # the other may have been of a later commit


class _Export:
    def __init__(self, dataset: Dataset, database: Database, state: State):
        self._dataset = dataset
        self._database = database
        self._state = state
        self._schema = state.schema
        self._written = Written()
        self._changed = 0

    @property
    def said(self) -> str:
        """What was done, in a sentence."""
        text = f"{self._written} of the schema {self._schema!r}"
        if self._changed:
            values = count_in_words(self._changed, "value")
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
        self._written.removed += held.rows
        self._written.tables += 1
        self._state.forget(held)

    # --- record types ---

    def _export_type(self, name: str, table: str) -> None:
        dataset, held = self._dataset, self._state.held.get(name)
        step(f"exporting {name}")
        listed = dataset.files(name)
        is_new = held is None
        held = held or Held(table, name, "record type")
        kinds = dataset.rows_of(name, listed[:1]).collect_schema()
        fitted = fit(
            self._database,
            self._schema,
            held,
            kinds,
            is_new=is_new,
            docs=lambda: column_comments(dataset, name),
        )
        files = files_by_name(listed)
        same = [files[each] for each in files.keys() & held.files]
        # columns that came may have values in rows that are there
        if fitted.reshaped or (
            fitted.added and same and rows_with(dataset.rows_of(name, same), fitted.added)
        ):
            same = []
        come = files if not same else {k: f for k, f in files.items() if k not in held.files}
        gone = held.files - (files.keys() if same else set())
        if come or gone:
            self._change(held, fitted, gone, come)
        if is_new:
            where, key = quoted(self._schema, held.table), f"{quoted(PIECE)}, {quoted(ROW)}"
            self._database.execute(f"ALTER TABLE {where} ADD PRIMARY KEY ({key})")
        if come or gone or fitted.added:
            self._keep(held)

    def _change(
        self, held: Held, fitted: Fit, gone: Collection[str], come: Mapping[str, PartFile]
    ) -> None:
        """Give a table the rows of files that came instead of those of files that left.

        Rows that went from one into another stay as they are, unless columns were added.
        """
        before = self._state.pieces(held, gone)
        pieces, stay = numbered(
            pieces_in(self._dataset, held.name, come),
            () if fitted.added or fitted.reshaped else before,
            held.unused,
        )
        self._delete(held, [piece for piece in before if piece.number not in stay])
        rows = rows_of(self._dataset, held.name, come, pieces, stay)
        # the table's own column is of 32 bits
        self._load(held, fitted.columns, ((r, at.cast({PIECE: pl.Int32})) for r, at in rows))
        held.unused = max([held.unused, *(piece.number + 1 for piece in pieces)])
        self._state.keep_pieces(held, before, pieces)

    def _keep(self, held: Held) -> None:
        """Put a table that was changed on record."""
        held.token = self._dataset.manifest.token
        self._written.tables += 1
        self._state.keep(held)

    def _delete(self, held: Held, gone: Sequence[Piece]) -> None:
        """Delete rows, by the table's key: it costs as much as there are."""
        rows = sum(piece.rows for piece in gone)
        where = quoted(self._schema, held.table)
        if rows and rows == held.rows:
            self._database.execute(f"DELETE FROM {where}")
        elif rows:
            numbers = [piece.number for piece in gone]
            self._database.execute(f"DELETE FROM {where} WHERE {PIECE} = ANY ($1)", numbers)
        held.rows -= rows
        self._written.removed += rows

    def _clear(self, held: Held) -> None:
        """The dataset has no rows of a record type any more: its table stays, empty."""
        if held.files:
            gone = self._state.pieces(held, held.files)
            self._delete(held, gone)
            self._state.keep_pieces(held, gone, ())
            self._keep(held)

    def _load(self, held: Held, columns: Sequence[Column], rows: Iterable[_Rows]) -> None:
        """Send rows, batch by batch."""
        sent = 0

        def tables() -> Iterator[pa.Table]:
            nonlocal sent
            for batch, places in rows:
                for first in range(0, batch.height, SENT_ROWS):
                    part, place = batch.slice(first, SENT_ROWS), places.slice(first, SENT_ROWS)
                    table, changed = encoded(part, columns, place)
                    self._changed += changed
                    held.changed_values += changed
                    sent += part.height
                    yield table

        following = tables()
        for first in following:
            together = itertools.chain((first,), following)
            self._database.load(self._schema, held.table, first.schema, together)
        held.rows += sent
        self._written.rows += sent

    # --- views ---

    def _export_view(self, view: ViewChoice, table: str) -> None:
        """Send a view as a whole, where its rows are others than the table has."""
        step(f"exporting {view.label}")
        dataset, held = self._dataset, self._state.held.get(view.label)
        with stored_view(dataset, view) as found:
            if found is None:
                if held is not None:
                    self._drop(held)
                return
            frame, digest = found
            if held is not None and held.digest == digest:
                return
            is_new = held is None
            held = held or Held(table, view.label, "view")
            fitted = fit(
                self._database,
                self._schema,
                held,
                frame.collect_schema(),
                is_new=is_new,
                docs=lambda: column_comments(dataset, view.name, view.settings),
            )
            if not is_new:
                self._database.execute(f"DELETE FROM {quoted(self._schema, held.table)}")
                self._written.removed += held.rows
            held.rows = held.changed_values = 0
            self._load(held, fitted.columns, ((batch, pl.DataFrame()) for batch in batches(frame)))
            held.digest = digest
            self._keep(held)
