"""The promises of sinks.

Rows: all are read as they were written, and only the location holds them. Commits: each is complete
or has no effect, even if it is interrupted.
"""

import os
import shutil
import tempfile
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import pyarrow as pa

from harvest.model import RecordType
from harvest.model.arrow import conform
from harvest_testing.declarations import class_problems
from harvest_testing.lab.files import cut_short, differing, files_below, odd_names
from harvest_testing.lab.globals import (
    at_home_in,
    elsewhere,
    require_closed,
    require_unchanged,
    snapshot,
)
from harvest_testing.promise import promise, raises_nothing, require

from .driver import SinkDriver
from .kit import REPORTED, SinkKit
from .values import KINDS, LATER, LINE, NAMES, OTHER, lines, names, table_with

PLAIN = ("text", "boolean", "integer", "id", "number", "time")
"""Kinds of values that every format can write; the format's own tools must read them."""


class SinkConformance(SinkKit):
    """Tests of everything that a sink promises; an author's test class inherits them.

    Its parameters are those of :class:`harvest_testing.sinks.kit.SinkKit`. If the format cannot
    keep a promise, override the test method of that name.
    """

    # --- rows -------------------------------------------------------------------------------------

    @promise("settings are declared and documented", quick=True)
    def test_settings_are_declared(self) -> None:
        problems = list(class_problems(self.sink))
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
            one_part = attrs.evolve(driver, files={"b": driver.files["b"]})
            self.require_rows(one_part, LINE, third, after="of one part")
            # slices of several tables, each with a dictionary of its own, and slices without rows
            apart = [one, lines(LINE, 3, 4, origin="/in/b"), two]
            pieces, last = pa.concat_tables(apart).slice(1, 4), lines(LINE, 9)
            empty = [(LINE, lines(LINE)), (OTHER, lines(OTHER))]
            driver.commit({"c": [*empty, (LINE, pieces), *empty, (LINE, last), *empty]})
            self.require_rows(driver, LINE, one, two, third, pieces, last, after="with odd pieces")

    @promise("rows that equal each other are all kept, and writing nothing works",
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

    @promise(
        "the same rows give the same bytes, whenever and wherever they are written", quick=True
    )
    def test_equal_rows_give_equal_bytes(self, tmp_path: Path) -> None:
        rows = [(KINDS[kind], table_with(kind)) for kind in self.kinds]
        first = self._written(tmp_path / "one", rows)
        (tmp_path / "place").mkdir()
        with elsewhere(tmp_path / "place", "Pacific/Auckland"):
            second = self._written(tmp_path / "two", rows)
        remedy = "write no time, random number or path, and nothing in the order of a set"
        others = differing(first, second)
        require(not others, f"these differ: {others}", remedy)

    def _written(
        self, directory: Path, rows: list[tuple[RecordType, pa.Table]]
    ) -> dict[str, object]:
        """Commit rows; return checksums of the staged files, and bytes of the published ones."""
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

    @promise("environment, locale, random numbers and similar state stay as they are", quick=True)
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
            require_unchanged(before, "writing")
            before = snapshot(later=True)

    @promise("locations of any characters and bytes are written like others", quick=True)
    def test_names_of_any_bytes(self, tmp_path: Path) -> None:
        self.open(tmp_path / "plain")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "a link").symlink_to("elsewhere")
        for odd in (*odd_names(tmp_path), "a link"):
            sink = self.made("sink", self.location(tmp_path / odd))
            try:
                sink.check()
            except REPORTED:
                continue  # refused with a message, before anything is written
            driver = SinkDriver(sink)
            driver.commit({"a": [(LINE, lines(LINE, 1, 2))]})
            require(
                any(path.is_file() for path in (tmp_path / odd).resolve().rglob("*")),
                f"nothing is written at {os.fsencode(tmp_path / odd)!r}",
                "take the location as it is",
            )
            self.require_rows(driver, LINE, lines(LINE, 1, 2), after=f"below {odd!r}")

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
            require_closed(tmp_path)
            shutil.rmtree(staging)
        self.require_rows(driver, LINE, old, after="after a partition was given up")
        driver.stage({"a": [(LINE, lines(LINE, 2))], "b": [(OTHER, lines(OTHER, 2))]})
        after = files_below(tmp_path, but=driver.sink.state / "staging")
        remedy = "write below the staging directory that writer() is given, and nowhere else"
        changed = differing(before, after)
        require(not changed, f"writing and giving up changes {changed}", remedy)

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

    # --- commits ----------------------------------------------------------------------------------

    @promise("a partition can be replaced and taken out; the others stay", quick=True)
    def test_parts_are_replaced_and_removed(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        a, b, c = (lines(LINE, 1, 2, origin=f"/in/{key}") for key in "abc")
        driver.commit({"a": [(LINE, a)], "b": [(LINE, b)], "c": [(LINE, c)]})
        new = lines(LINE, 1, 2, 3, text="new", origin="/in/b")
        driver.commit({"b": [(LINE, new)]})
        self.require_rows(driver, LINE, a, new, c, after="after one partition was replaced")
        driver.commit({"a": None})
        self.require_rows(driver, LINE, new, c, after="after one partition was taken out")
        driver.commit({"b": [(OTHER, lines(OTHER, 1, origin="/in/b"))]})
        self.require_rows(driver, LINE, c, after="after a partition changed its record type")
        driver.commit({"b": [(LINE, c)], "c": [(LINE, a)]})
        self.require_rows(driver, LINE, c, a, after="after two partitions changed together")
        driver.commit({"b": []})
        self.require_rows(driver, LINE, a, after="after a partition was left without rows")

    @promise("a commit that is cut short at any step leaves the old rows or the new ones, whole",
             quick=True)  # fmt: skip
    def test_commits_can_be_given_up(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        old, new = lines(LINE, 1), lines(LINE, 1, 2, text="new")
        driver.commit({"a": [(LINE, old)]})
        token = f"commit-{driver.commits}"
        for at in count(1):
            publication = driver.stage({"a": [(LINE, new)], "b": [(LINE, new)]})
            with cut_short(at) as steps:
                driver.sink.publish(publication)  # the manifest is never renamed
            when = f"where publish() ends at step {at}, {steps[-1:]}"
            self.require_rows(driver, LINE, old, after=when)
            driver.recover(token)
            self.require_rows(driver, LINE, old, after=f"{when}, and the next run has tidied up")
            if len(steps) < at:
                break
        shutil.rmtree(driver.sink.state / "staging")
        for at in count(1):
            publication = driver.stage({"a": [(LINE, new)]})
            driver.publish(publication)
            with cut_short(at) as steps:
                driver.finish(publication)
            when = f"where finish() ends at step {at}, {steps[-1:]}"
            self.require_rows(driver, LINE, new, after=when)
            driver.recover(publication.token)
            self.require_rows(driver, LINE, new, after=f"{when}, and the next run has tidied up")
            if len(steps) < at:
                break

    @promise("other readers of the format find the committed rows and no others", quick=True)
    def test_native_readers_find_what_is_committed(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            a, b, c = (lines(LINE, 1, 2, origin=f"/in/{key}") for key in "abc")
            driver.commit({"a": [(LINE, a)], "b": [(LINE, b)], "c": [(LINE, c)]})
            self._require_natively_found(driver, a, b, c)
            new = lines(LINE, 1, 2, 3, text="new", origin="/in/b")
            driver.commit({"b": [(LINE, new)]})
            driver.commit({"a": None})
            token = f"commit-{driver.commits}"
            driver.sink.publish(driver.stage({"b": [(LINE, a)]}))  # then abandoned
            driver.recover(token)
            self._require_natively_found(driver, new, c)

    def _require_natively_found(self, driver: SinkDriver, *tables: pa.Table) -> None:
        columns = ("origin", "position", "text")
        found = self.read_natively(driver.sink.location, LINE).select(columns).rows()
        wanted = [tuple(row[n] for n in columns) for table in tables for row in table.to_pylist()]
        require(
            sorted(found) == sorted(wanted),
            f"the format's own tools find {sorted(found)}, committed are {sorted(wanted)}",
            "remove rows that are replaced or given up, and let rows be found from finish() on",
        )

    @promise("commits leave nothing behind: not next to the location, nor in it", quick=True)
    def test_commits_leave_nothing_behind(self, tmp_path: Path) -> None:
        own: list[str] = []
        with at_home_in(tmp_path / "home"):
            for driver in self.drivers(tmp_path / "datasets"):
                root, location = driver.sink.root, os.path.abspath(driver.sink.location)  # noqa: PTH100
                one_file = os.fspath(root) == os.path.dirname(location)  # noqa: PTH120
                own += [location if one_file else os.fspath(root), os.fspath(driver.sink.state)]
                first, then = (self._names_after(driver, commits) for commits in (3, 4))
                require_closed(tmp_path)
                more = [name for name in then if name not in first]
                require(
                    len(then) <= len(first),
                    f"four more commits of as many rows leave {len(then) - len(first)} more "
                    f"files, as {', '.join(more[:3])}",
                    "let finish() remove what the new manifest does not name, and close() what it "
                    "made on the way",
                )
        files = (os.fspath(tmp_path / name) for name in files_below(tmp_path))
        strays = [name for name in files if not name.startswith(tuple(own))]
        require(
            not strays,
            f"files are left elsewhere: {', '.join(strays)}",
            "write at the location and below state; for what is passing, below staging",
        )

    def _names_after(self, driver: SinkDriver, commits: int) -> list[str]:
        """Run commits that replace all rows, each followed by an abandoned one; list the files."""
        for _ in range(commits):
            rows = lines(LINE, 1, text=f"of commit {driver.commits}")
            changes = {key: [(LINE, rows), (OTHER, lines(OTHER, 1))] for key in "ab"}
            driver.commit(changes)
            token = f"commit-{driver.commits}"
            driver.sink.publish(driver.stage(changes))  # the manifest is never renamed
            driver.recover(token)
        return list(files_below(driver.sink.root, but=driver.sink.state / "staging"))


def _plain(kind: object, value: Any) -> str:
    """Convert a value, also one that a format stores as text or number, to text of its own type."""
    if value is None:
        return "null"
    if kind is datetime:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="microseconds")
    if kind is float:
        return repr(float(value))
    return str(value)
