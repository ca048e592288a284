"""Update a PostgreSQL schema to the state of a dataset, in one transaction.

An export deletes and sends the rows of record types that differ; it sends a view as a whole if its
rows differ.  The commit's token is written in the same transaction.  If an export is killed, the
schema keeps the old rows and the old token, and the next export starts from there.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import attrs
import polars as pl
import pyarrow as pa

from harvest import Dataset, PartFile, UsageError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.steps import step

from ..batches import Written, batches, check_current
from ..chosen import ViewChoice, column_comments, stored_view, views_named
from ..names import identifiers, quoted
from ..pieces import PIECE, ROW, Piece, files_by_name, pieces_in, rows_of, rows_with
from .columns import CHANGED, encoded
from .database import Database, connected
from .state import OWN_TABLES, Held, State, numbered

SENT_ROWS: Final = 16_384
"""Rows encoded and sent at a time."""

_Rows: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]
"""Rows, and the piece and row number of each; views have no pieces."""


def write(
    dataset: Dataset,
    target: str,
    *,
    schema: str = "harvest",
    views: str | Iterable[str] | None = None,
) -> str:
    """The exporter ``postgresql``; gives a summary.

    schema: of the database, for this dataset alone; views: as in ``chosen.views_named``, by
    default those that the schema has.
    Raises UsageError for another target, HarvestError for an error of PostgreSQL, DatasetChanged
    if a later commit was already exported.
    """
    chosen = views_named(dataset, views)
    if identifiers([schema])[schema] != schema:
        raise UsageError(
            f"{schema!r} cannot be the name of a schema", remedy="give one of 1 to 63 bytes"
        )
    with connected(target) as database:
        # lock the schema against other exports until the transaction ends
        key, name = "hashtextextended($1, 0)", f"harvest:{schema}"
        if not database.value(f"SELECT pg_try_advisory_xact_lock({key})", name):
            step("waiting for another export to end")
            database.rows(f"SELECT pg_advisory_xact_lock({key})", name)
            check_current(dataset)  # the other export may have written a later commit
        return _Export(dataset, database, State.read(database, schema, dataset)).run(chosen)


@attrs.define
class _Export:
    _dataset: Dataset
    _database: Database
    _state: State
    _written: Written = attrs.field(factory=Written)
    _changed: int = 0

    def run(self, views: Sequence[ViewChoice] | None) -> str:
        """Update all tables to the dataset's state; gives a summary."""
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
            left = each.kind == "record type" and each.name not in self._dataset.record_types
            if left and each.files:  # the dataset has no such rows any more
                gone = self._state.pieces(each, each.files)
                self._delete(each, gone)
                self._state.keep_pieces(each, gone, ())
                self._keep(each)
        for view in views:
            self._export_view(view, tables[view.label])
        self._state.commit_of(self._dataset)
        text = f"{self._written} of the schema {self._state.schema!r}"
        if self._changed:
            values = count_in_words(self._changed, "value")
            text += f"; {values} that PostgreSQL cannot hold changed, see {CHANGED}"
        return text

    def _tables(self, names: Sequence[str]) -> dict[str, str]:
        """Name the table of each record type and view; existing tables keep their names."""
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
        """Drop the table of a view."""
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
        docs = partial(column_comments, dataset, name)
        added, reshaped = self._state.fit(held, kinds, is_new=is_new, docs=docs)
        files = files_by_name(listed)
        same = [files[each] for each in files.keys() & held.files]
        # columns that came may have values in rows that are there
        if reshaped or (added and same and rows_with(dataset.rows_of(name, same), added)):
            same = []
        come = files if not same else {k: f for k, f in files.items() if k not in held.files}
        gone = held.files - (files.keys() if same else set())
        if come or gone:
            self._change(held, kinds.names(), gone, come, anew=bool(added) or reshaped)
        if is_new:
            where, key = quoted(self._state.schema, held.table), f"{quoted(PIECE)}, {quoted(ROW)}"
            self._database.execute(f"ALTER TABLE {where} ADD PRIMARY KEY ({key})")
        if come or gone or added:
            self._keep(held)

    def _change(
        self,
        held: Held,
        names: Sequence[str],
        gone: Collection[str],
        come: Mapping[str, PartFile],
        *,
        anew: bool,
    ) -> None:
        """Delete the rows of files that are gone, and send the rows of new files.

        Rows that only moved to another file stay unchanged, unless ``anew``.
        """
        before = self._state.pieces(held, gone)
        found = pieces_in(self._dataset, held.name, come)
        pieces, stay = numbered(found, () if anew else before, held.unused)
        self._delete(held, [piece for piece in before if piece.number not in stay])
        rows = rows_of(self._dataset, held.name, come, pieces, stay)
        # the table's own column is of 32 bits
        self._load(held, names, ((r, at.cast({PIECE: pl.Int32})) for r, at in rows))
        held.unused = max([held.unused, *(piece.number + 1 for piece in pieces)])
        self._state.keep_pieces(held, before, pieces)

    def _keep(self, held: Held) -> None:
        """Record that a table was changed."""
        held.token = self._dataset.manifest.token
        self._written.tables += 1
        self._state.keep(held)

    def _delete(self, held: Held, gone: Sequence[Piece]) -> None:
        """Delete rows by the table's key, in time proportional to their number."""
        rows = sum(piece.rows for piece in gone)
        where = quoted(self._state.schema, held.table)
        if rows and rows == held.rows:
            self._database.execute(f"DELETE FROM {where}")
        elif rows:
            numbers = [piece.number for piece in gone]
            self._database.execute(f"DELETE FROM {where} WHERE {PIECE} = ANY ($1)", numbers)
        held.rows -= rows
        self._written.removed += rows

    def _load(self, held: Held, names: Iterable[str], rows: Iterable[_Rows]) -> None:
        """Send rows with columns of these names in batches."""
        columns = [held.columns[name] for name in names]

        def tables() -> Iterator[pa.Table]:
            for batch, places in rows:
                for first in range(0, batch.height, SENT_ROWS):
                    part, place = batch.slice(first, SENT_ROWS), places.slice(first, SENT_ROWS)
                    table, changed = encoded(part, columns, place)
                    self._changed += changed
                    held.changed_values += changed
                    held.rows += part.height
                    self._written.rows += part.height
                    yield table

        following = tables()
        for first in following:
            together = itertools.chain((first,), following)
            self._database.load(self._state.schema, held.table, first.schema, together)

    # --- views ---

    def _export_view(self, view: ViewChoice, table: str) -> None:
        """Send all rows of a view, if they differ from the rows of the table."""
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
            kinds = frame.collect_schema()
            docs = partial(column_comments, dataset, view.name, view.settings)
            self._state.fit(held, kinds, is_new=is_new, docs=docs)
            if not is_new:
                self._database.execute(f"DELETE FROM {quoted(self._state.schema, held.table)}")
                self._written.removed += held.rows
            held.rows = held.changed_values = 0
            self._load(held, kinds, ((batch, pl.DataFrame()) for batch in batches(frame)))
            held.digest = digest
            self._keep(held)
