"""Promises about rows: all of them come back as they were, and lie nowhere but in the location."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import polars as pl
import pyarrow as pa

from harvest import PartFile, Publication, Sink
from harvest.model import RecordType
from harvest.model.arrow import BATCH_ROWS, batches, conform
from harvest_testing.declarations import class_problems
from harvest_testing.lab.files import files_below, odd_names
from harvest_testing.lab.globals import changes, elsewhere, open_files, snapshot
from harvest_testing.lab.process import done_in_process, peak_memory
from harvest_testing.promise import does_not_apply, promise, raises_nothing, require

from .driver import Rows, SinkDriver
from .kit import REPORTED, SinkKit
from .values import KINDS, LATER, LINE, NAMES, OTHER, lines, names, table_with

MEGABYTE = 1 << 20
PUSHED_DOWN = (
    "SELECT text, position FROM self",
    "SELECT origin FROM self WHERE position > 1 LIMIT 4 OFFSET 1",
    "SELECT COUNT(*) AS n FROM self",
)
PLAIN = ("text", "boolean", "integer", "id", "number", "time")
"""Kinds of values that every format has some way to write, which is compared."""

OUTSIDE = "make paths from the location, and refuse parts of a name that lead out of it"


class RowPromises(SinkKit):
    """The tests that write rows and read them."""

    @promise("settings are declared and documented", quick=True)
    def test_settings_are_declared(self) -> None:
        problems = class_problems(self.sink)
        require(not problems, "\n".join(problems), "declare and document it")

    @promise("every value comes back as it was written", quick=True)
    def test_rows_come_back(self, tmp_path: Path, kind: str) -> None:
        table = table_with(kind)
        for driver in self.drivers(tmp_path):
            driver.commit({"a": [(KINDS[kind], table)]})
            self.require_rows(driver, KINDS[kind], table, after="after a commit")

    @promise("batches, record types and partitions are kept in order and apart", quick=True)
    def test_batches_types_and_partitions(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            one, two, other = lines(LINE, 1, 2), lines(LINE, 5, 8), lines(OTHER, 3, 5)
            third = lines(LINE, 1, 2, 3, origin="/in/b")
            driver.commit({"a": [(LINE, one), (OTHER, other), (LINE, two)], "b": [(LINE, third)]})
            self.require_rows(driver, LINE, one, two, third, after="after a commit")
            self.require_rows(driver, OTHER, other, after="after a commit")
            self.require_scan(
                driver.sink, {"b": driver.files["b"]}, LINE, third, after="of one part"
            )
            # pieces of other tables, each with texts of its own, and pieces without rows
            apart = [one, lines(LINE, 3, 4, origin="/in/b"), two]
            pieces, last = pa.concat_tables(apart).slice(1, 4), lines(LINE, 9)
            empty = [(LINE, lines(LINE)), (OTHER, lines(OTHER))]
            driver.commit({"c": [*empty, (LINE, pieces), *empty, (LINE, last), *empty]})
            self.require_rows(driver, LINE, one, two, third, pieces, last, after="with odd pieces")
            lazy = driver.scan(LINE)
            for ask in PUSHED_DOWN:
                found, expected = (f.sql(ask).collect() for f in (lazy, lazy.collect().lazy()))
                require(
                    found.equals(expected),
                    f"{ask} is {found.rows()[:3]}, and {expected.rows()[:3]} of all rows",
                    "let scan() give a lazy frame of all rows and columns in their order",
                )

    @promise("what close() and publish() report are the rows that were given", quick=True)
    def test_rows_are_counted(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            # one batch more than a writer is given at once, as the core cuts them
            many, few, other = _many_lines(BATCH_ROWS + 4_000), lines(LINE, 1), lines(OTHER, 1, 2)
            rows = [*((LINE, piece) for piece in batches(many)), (OTHER, other)]
            one = {LINE.name: 1}
            given = {"a": {LINE.name: many.num_rows, OTHER.name: 2}, "b": {}, "c": one, "d": one}
            publication = driver.stage({"a": rows, "b": [], "c": [(LINE, few)], "d": [(LINE, few)]})
            self._require_counts(given, publication.parts, does="close() reports")
            driver.publish(publication)
            self._require_counts(given, driver.files, does="publish() reports")
            driver.finish(publication)
            self.require_rows(driver, LINE, many, few, few, after=f"after {many.num_rows} rows")
            driver.commit({"c": None})  # may move rows of others
            del given["c"]
            self._require_counts(given, driver.files, does="publish() reports")

    def _require_counts(
        self,
        given: Mapping[str, Mapping[str, int]],
        files: Mapping[str, Iterable[PartFile]],
        *,
        does: str,
    ) -> None:
        for key, rows in given.items():
            held = Counter[str]()
            for file in files[key]:
                held[file.record_type] += file.rows
            together = held.pop("events", 0)  # of several types, of which only the sum is known
            more = {name: n for name, n in held.items() if n > rows.get(name, 0)}
            require(
                held.total() + together == sum(rows.values()) and not more,
                f"partition {key}: of {dict(rows)} rows, {does} {dict(held)}"
                + (f" and {together} of several types" if together else ""),
                "count what is written to each file, and let publish() describe all of it",
            )

    @promise("rows that equal each other are all kept, and nothing to write is no error",
             quick=True)  # fmt: skip
    def test_equal_rows_are_kept(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            driver.commit({"a": [], "b": [(LINE, lines(LINE))]})
            self.require_rows(driver, LINE, after="with two empty partitions")
            one, same = lines(LINE, 1, 1, 2), lines(LINE, 2, 2)
            driver.commit({"a": [(LINE, one), (LINE, same)], "b": [(LINE, same)]})
            self.require_rows(driver, LINE, one, same, same, after="with equal rows")

    @promise("columns may be added to a record type; they are null in rows of before", quick=True)
    def test_columns_may_be_added(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            old, new = lines(LINE, 1, 2), lines(LATER, 1, 2, text="new")
            driver.commit({"a": [(LINE, old)], "c": [(LINE, old)]})
            self.require_rows(
                driver, LATER, conform(LATER, old), conform(LATER, old), after="before"
            )
            driver.commit({"b": [(LATER, new)], "c": [(LATER, new)]})
            self.require_rows(
                driver, LATER, conform(LATER, old), new, new, after="after columns were added"
            )

    @promise("what the format cannot hold is refused, not left out", quick=True)
    def test_kinds_it_cannot_hold_are_refused(self, tmp_path: Path) -> None:
        others = [kind for kind in KINDS if kind not in self.kinds]
        if not others:
            does_not_apply("it holds values of every kind")
        for kind in others:
            driver, table = self.driver(tmp_path / kind), table_with(kind)
            with contextlib.suppress(*REPORTED):
                driver.commit({"a": [(KINDS[kind], table)]})
                self.require_rows(driver, KINDS[kind], table, after="after a commit")

    @promise(
        "the same rows give the same bytes, whenever and wherever they are written", quick=True
    )
    def test_equal_rows_give_equal_bytes(self, tmp_path: Path) -> None:
        rows = [(KINDS[kind], table_with(kind)) for kind in self.kinds]
        first = self._written(tmp_path / "one", rows)
        (tmp_path / "place").mkdir()
        with elsewhere(tmp_path / "place", "Pacific/Auckland"):
            second = self._written(tmp_path / "two", rows)
        differing = sorted(name for name, _ in set(first.items()) ^ set(second.items()))
        require(
            not differing,
            f"these differ: {', '.join(differing)}",
            "write no time, random number or path, and nothing in the order of a set",
        )

    def _written(
        self, directory: Path, rows: list[tuple[RecordType, pa.Table]]
    ) -> dict[str, object]:
        """Checksums of what is staged, and the files that are published from it."""
        driver = self.driver(directory)
        publication = driver.stage({"a": rows})
        found: dict[str, object] = {
            f"staged {file.path} ({file.record_type})": (file.sha256, file.rows)
            for file in publication.parts["a"]
        }
        driver.publish(publication)
        driver.finish(publication)
        if self.deterministic:
            found |= files_below(directory, but=driver.sink.state)
        return found

    @promise("a sink travels to the processes that write", quick=True)
    def test_it_can_be_pickled(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        with raises_nothing(
            "pickle says ",
            "open files and connections in writer() and publish(), not in __init__()",
        ):
            copy = pickle.loads(pickle.dumps(driver.sink))  # noqa: S301 - made here
        require(
            (copy.root, copy.state) == (driver.sink.root, driver.sink.state),
            "the copy writes to another place",
            "derive root and state from location and config",
        )
        there = SinkDriver(copy)
        there.commit({"a": [(LINE, lines(LINE, 1, 2))]})
        self.require_scan(driver.sink, there.files, LINE, lines(LINE, 1, 2), after="from a copy")

    @promise("environment, locale, random numbers and the like stay as they are", quick=True)
    def test_no_global_state(self, tmp_path: Path) -> None:
        before = snapshot()
        for name in ("first", "second"):
            driver = self.driver(tmp_path / name)
            with (
                mock.patch.object(tempfile, "tempdir", str(tmp_path / "no such directory")),
                raises_nothing("without TMPDIR, it raises ", "write below `staging` alone"),
            ):
                driver.commit({"a": [(LINE, lines(LINE, 1))]})
            driver.scan(LINE).collect()
            changed = changes(before)
            require(
                not changed, f"writing changes {', '.join(changed)}", "leave it, or put it back"
            )
            before = snapshot(later=True)

    @promise("locations of any characters and bytes are written like others", quick=True)
    def test_names_of_any_bytes(self, tmp_path: Path) -> None:
        self.open(tmp_path / "plain")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "a link").symlink_to("elsewhere")
        for odd in (*odd_names(tmp_path), "a link"):
            sink = self.configured(self.location(tmp_path / odd))
            try:
                sink.check()
            except REPORTED:
                continue  # refused in words, before anything is written
            driver = SinkDriver(sink)
            driver.commit({"a": [(LINE, lines(LINE, 1, 2))]})
            require(
                any(path.is_file() for path in (tmp_path / odd).resolve().rglob("*")),
                f"nothing is written at {os.fsencode(tmp_path / odd)!r}",
                "take the location as it is",
            )
            self.require_rows(driver, LINE, lines(LINE, 1, 2), after=f"below {odd!r}")

    @promise("no path in a manifest leads out of the location", quick=True)
    def test_paths_lead_nowhere(self, tmp_path: Path) -> None:
        other = self.driver(tmp_path / "other")
        other.commit({"a": [(LINE, lines(LINE, 1, text="secret"))]})
        theirs = files_below(tmp_path / "other")
        driver = self.driver(tmp_path / "mine")
        driver.commit({"a": [(LINE, lines(LINE, 1))]})
        evil = [
            attrs.evolve(file, path=os.path.relpath(other.sink.root / file.path, driver.sink.root))
            for file in other.files["a"]
        ]
        require(not self._reads(driver.sink, evil), "scan() reads another dataset's rows", OUTSIDE)
        named = {"a": driver.files["a"], "x": evil}
        staging = driver.sink.state / "staging" / "x"
        staging.mkdir(parents=True)
        token = f"commit-{driver.commits}"
        with contextlib.suppress(*REPORTED):
            driver.sink.publish(
                Publication(parts=named, staged={"x": staging}, old=driver.files, token=token)
            )
        with contextlib.suppress(*REPORTED):
            driver.sink.finish(Publication(parts=driver.files, staged={}, old=named, token=token))
        changed = set(theirs.items()) ^ set(files_below(tmp_path / "other").items())
        require(
            not changed,
            f"files of another dataset are changed or gone: {sorted(n for n, _ in changed)}",
            OUTSIDE,
        )

    def _reads(self, sink: Sink, files: list[PartFile]) -> bool:
        try:
            return "secret" in sink.scan(files, LINE).collect()["text"].to_list()
        except (*REPORTED, pl.exceptions.ComputeError):  # as which polars 1 passes ours on
            return False

    @promise("a writer that gives up leaves the dataset as it was, and writes into staging alone",
             quick=True)  # fmt: skip
    def test_writers_can_be_aborted(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        old = lines(LINE, 1)
        driver.commit({"a": [(LINE, old)]})
        before = files_below(tmp_path, but=driver.sink.state / "staging")
        staging = driver.sink.state / "staging" / "given-up"
        for tables in (
            [],
            [(LINE, lines(LINE, 2))],
            [(LINE, lines(LINE, 2)), (OTHER, lines(OTHER, 2))],
        ):
            staging.mkdir(parents=True)
            writer = driver.sink.writer(staging, "part-0123456789abcdef-0123456789ab")
            for kind, table in tables:
                writer.write(kind, table)
            writer.abort()
            held = open_files(tmp_path)
            require(not held, f"abort() leaves open: {held[:3]}", "close what a writer has opened")
            shutil.rmtree(staging)
        self.require_rows(driver, LINE, old, after="after a partition was given up")
        driver.stage({"a": [(LINE, lines(LINE, 2))], "b": [(OTHER, lines(OTHER, 2))]})
        after = files_below(tmp_path, but=driver.sink.state / "staging")
        changed = sorted({name for name, _ in set(before.items()) ^ set(after.items())})
        remedy = "write below the staging directory that writer() is given, and nowhere else"
        require(not changed, f"writing and giving up changes {', '.join(changed)}", remedy)

    @promise("several writers may be at work at a time", quick=True)
    def test_writers_keep_apart(self, tmp_path: Path) -> None:
        driver = attrs.evolve(self.driver(tmp_path), small_bytes=0)
        one, two, other = lines(LINE, 1, 2), lines(LINE, 3), lines(LINE, 1, 5, origin="/in/b")
        inner = []

        def rows() -> Iterator[Rows]:
            yield LINE, one
            inner.append(driver.stage({"b": [(OTHER, lines(OTHER, 1)), (LINE, other)]}))
            yield LINE, two

        outer = driver.stage({"a": rows()})
        both = attrs.evolve(
            outer,
            parts={**outer.parts, "b": inner[0].parts["b"]},
            staged={**outer.staged, **inner[0].staged},
        )
        driver.publish(both)
        driver.finish(both)
        after = "of two writers that took turns"
        self.require_rows(driver, LINE, one, two, other, after=after)
        self.require_rows(driver, OTHER, lines(OTHER, 1), after=after)

    @promise("other readers of the format find the columns and values that were written",
             quick=True)  # fmt: skip
    def test_native_readers_find_the_values(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            tables = {KINDS[k]: table_with(k) for k in PLAIN if k in self.kinds}
            tables[NAMES] = names()
            driver.commit({"a": list(tables.items())})
            self.require_rows(driver, NAMES, tables[NAMES], after="with names in capitals")
            for kind, table in tables.items():
                self._require_natively(driver, kind, table.to_pylist())

    def _require_natively(
        self, driver: SinkDriver, kind: RecordType, rows: list[dict[str, Any]]
    ) -> None:
        remedy = "write the record type's columns by their names, and values as they are"
        with raises_nothing(f"read_natively() of {kind.name} raises ", remedy):
            frame = self.read_natively(driver.sink.location, kind)
        for column in (c for c in kind.columns if c.name not in ("extra", "origin")):
            require(
                column.name in frame.columns,
                f"{kind.name} has the column {column.name!r}, and the format's own tools find "
                f"{frame.columns}",
                remedy,
            )
            plain = partial(_plain, column.python_type)
            found = sorted(zip(frame["position"], map(plain, frame[column.name]), strict=True))
            wanted = sorted((row["position"], plain(row[column.name])) for row in rows)
            differing = [pair for pair in zip(found, wanted, strict=False) if pair[0] != pair[1]]
            require(
                len(found) == len(wanted) and not differing,
                f"{kind.name}.{column.name}, position and value: {str(differing[:1])[:200]} (found "
                f"and written), {len(found)} rows of {len(wanted)}",
                remedy,
            )

    @promise("memory does not grow with the size of a partition")
    def test_memory_is_bounded(self, tmp_path: Path) -> None:
        sink = self.open(tmp_path)
        staging = sink.state / "staging" / "part"
        staging.mkdir(parents=True)
        measured = done_in_process(_write_much, sink, staging, scratch=tmp_path)
        small, large, written = (number / MEGABYTE for number in measured)
        require(
            large - small <= self.max_memory_mb,
            f"{written:.0f} MB of rows take {large - small:.0f} MB more memory",
            f"write each batch as it comes; {self.max_memory_mb} MB are granted (max_memory_mb)",
        )


def _plain(kind: object, value: Any) -> str:
    """A value as text of its type, which formats without that type write as text or number, too."""
    if value is None:
        return "null"
    if kind is datetime:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="microseconds")
    if kind is float:
        return repr(float(value))
    return str(value)


def _write_much(sink: Sink, staging: Path) -> tuple[int, int, int]:
    """Peak memory after two batches and after all of a partition, and its size in memory."""
    chance = random.Random(1)  # noqa: S311 - the same in every run
    words = [f"{chance.getrandbits(1600):0400x}" for _ in range(250)]
    batch = _many_lines(BATCH_ROWS)
    writer = sink.writer(staging, "part-0123456789abcdef-0123456789ab")
    small = size = 0
    for number in range(10):
        first = number * BATCH_ROWS + 1
        positions = pa.array(range(first, first + BATCH_ROWS))
        texts = pa.array(chance.choices(words, k=BATCH_ROWS))
        rows = _with_column(_with_column(batch, "position", positions), "text", texts)
        size += rows.nbytes
        writer.write(LINE, rows)
        if number == 1:
            small = peak_memory()
    writer.close()
    return small, peak_memory(), size


def _many_lines(rows: int) -> pa.Table:
    """So many rows of ``LINE``, at positions from 1."""
    few = lines(LINE, *range(1, 1025))
    table = pa.concat_tables([few] * (rows // few.num_rows + 1)).slice(0, rows)
    return _with_column(table, "position", pa.array(range(1, rows + 1)))


def _with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.set_column(index, table.schema.field(index), values)
