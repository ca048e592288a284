"""Promises about commits: a commit is complete or has no effect, even if it is interrupted."""

import os
import shutil
from itertools import count
from pathlib import Path

import pyarrow as pa

from harvest_testing.lab.files import cut_short, files_below
from harvest_testing.lab.globals import at_home_in, require_closed
from harvest_testing.promise import promise, require

from .driver import SinkDriver
from .kit import SinkKit
from .values import LINE, OTHER, lines


class CommitPromises(SinkKit):
    """Tests that run commits step by step."""

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
