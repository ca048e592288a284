"""Promises about writers: they work in staging, for themselves, in whichever process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from harvest_testing.kits import done_in_process, files_below, open_files, promise, require

from .driver import SinkDriver
from .kit import SinkKit
from .values import LINE, OTHER, lines

if TYPE_CHECKING:
    from .driver import Rows

STAGED = "write below the staging directory that writer() is given, and nowhere else"


class WriterPromises(SinkKit):
    """The tests that stage partitions."""

    @promise("a writer that gives up leaves the dataset as it was", quick=True)
    def test_writers_can_be_aborted(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        old = lines(LINE, 1)
        driver.commit({"a": [(LINE, old)]})
        before = self._outside(driver, tmp_path)
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
        self._require_untouched(driver, tmp_path, before, "a partition that is given up")

    @promise("until publish() nothing but staging changes", quick=True)
    def test_writers_write_into_staging(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            driver.commit({"a": [(LINE, lines(LINE, 1))]})
            before = self._outside(driver, tmp_path)
            driver.stage({"a": [(LINE, lines(LINE, 2))], "b": [(OTHER, lines(OTHER, 2))]})
            self._require_untouched(driver, tmp_path, before, "staging")

    def _outside(self, driver: SinkDriver, directory: Path) -> dict[str, bytes]:
        return files_below(directory, but=driver.sink.state / "staging")

    def _require_untouched(
        self, driver: SinkDriver, directory: Path, before: dict[str, bytes], doing: str
    ) -> None:
        changed = set(before.items()) ^ set(self._outside(driver, directory).items())
        require(
            not changed, f"{doing} changes {', '.join(sorted({n for n, _ in changed}))}", STAGED
        )

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

    @promise("what one process writes, another one commits")
    def test_writers_work_in_other_processes(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            old, new = lines(LINE, 1), lines(LINE, 1, 2, text="new")
            driver.commit({"a": [(LINE, old)], "b": [(LINE, old)]})
            task = (driver, {"a": [(LINE, new)], "c": [(LINE, new)]})
            publication = done_in_process(SinkDriver.stage, *task, scratch=tmp_path)
            driver.publish(publication)
            driver.finish(publication)
            self.require_rows(driver, LINE, new, old, new, after="written by another process")
