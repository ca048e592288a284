"""Promises about power cuts: what a manifest names was on the disk before."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from harvest import Publication
from harvest_testing.kits import does_not_apply, done_in_process, promise, require

from .driver import SinkDriver
from .flushes import Flushes
from .kit import REPORTED, SinkKit
from .traced import strace, unflushed
from .values import LINE, OTHER, lines

if TYPE_CHECKING:
    from .driver import Rows

FLUSH = (
    "call harvest.toolkit.files.fsync_file for each new file, and fsync_directory for each "
    "directory with a new name, after the last write"
)


class DurablePromises(SinkKit):
    """The tests that watch what is flushed to disk."""

    @promise("what publish() leaves is on the disk before a manifest names it", quick=True)
    def test_what_is_published_is_flushed(self, tmp_path: Path) -> None:
        unheard: list[str] = []
        for driver in self.drivers(tmp_path):
            for changes in _two_commits():
                publication = driver.stage(changes)
                flushes = Flushes(tmp_path, but=driver.sink.state / "staging")
                with flushes.watched():
                    self._publish_in_vain(driver, publication)
                    driver.publish(publication)
                lost, more = flushes.at_risk()
                unheard += more
                require(
                    not lost,
                    f"when publish() ends, a power cut may take {'; '.join(lost)}",
                    FLUSH,
                )
                driver.finish(publication)
        if unheard:
            does_not_apply(
                f"a library writes {Path(unheard[0]).name}, and whether it flushes it cannot be "
                "heard from Python; harvest.toolkit.files.fsync_file after it can"
            )

    def _publish_in_vain(self, driver: SinkDriver, publication: Publication) -> None:
        """Publish while nothing can be flushed: what is repeated has to flush all of it."""
        failure = OSError(errno.EIO, "the disk fails, says harvest's conformance kit")
        with contextlib.suppress(*REPORTED), mock.patch.object(os, "fsync", side_effect=failure):
            driver.sink.publish(publication)

    @promise("what libraries write is on the disk before a manifest names it")
    def test_what_libraries_write_is_flushed(self, tmp_path: Path) -> None:
        log, marks = tmp_path / "log", tmp_path / "published"
        command = strace(log)
        if not command:
            does_not_apply("only strace sees what libraries flush, and it is absent or forbidden")
        for driver in self.drivers(tmp_path):
            marks.mkdir()
            done_in_process(_publish_two, driver, marks, scratch=tmp_path, under=command)
            for mark in sorted(marks.iterdir()):
                with log.open() as lines_of_log:
                    found = unflushed(lines_of_log, mark)
                staging = f"{driver.sink.state / 'staging'}/"
                lost = sorted(
                    path
                    for path in found
                    if path.startswith(f"{driver.sink.root}/") and not path.startswith(staging)
                )
                require(
                    not lost,
                    f"when publish() ends, these are not flushed: {', '.join(lost)}",
                    FLUSH,
                )
            shutil.rmtree(marks)


def _two_commits() -> list[Mapping[str, list[Rows] | None]]:
    old, new = lines(LINE, 1), lines(LINE, 1, 2, text="new")
    return [
        {"a": [(LINE, old)], "b": [(LINE, old)]},
        {"a": [(LINE, new)], "b": None, "c": [(OTHER, lines(OTHER, 1)), (LINE, new)]},
    ]


def _publish_two(driver: SinkDriver, marks: Path) -> None:
    """Commit twice, and make a directory whenever publish() ends."""
    for number, changes in enumerate(_two_commits()):
        publication = driver.stage(changes)
        driver.publish(publication)
        (marks / f"{number}").mkdir()
        driver.finish(publication)
