"""Promises about failures of the disk: each is reported, and costs nothing but the commit."""

from __future__ import annotations

import contextlib
import errno
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from harvest import Publication
from harvest_testing import BrokenPromise
from harvest_testing.kits import Switch, promise, raises_nothing

from .driver import SinkDriver
from .kit import REPORTED, SinkKit, no_space_beyond
from .values import LINE, lines

T = TypeVar("T")

NO_SPACE = {1: 10, 1 << 17: 10_000}
"""Bytes beyond which a file cannot grow while the disk is said to be full: rows that take more.

With the least, it is often the close of a file that fails, since writes are buffered.
"""
FAULTS = 12
"""Steps of a commit that fail, spread from the first to the last."""

DISK_FAILS = "where the disk fails"
SWALLOWED = "let errors of the disk pass, those of close() too, or raise harvest.HarvestError"


class FaultPromises(SinkKit):
    """The tests in which the disk fails."""

    @promise("a full disk is reported, and costs nothing but the commit", quick=True)
    def test_a_full_disk_is_told(self, tmp_path: Path) -> None:
        for space, rows in NO_SPACE.items():
            self._commit_without(space, self.driver(tmp_path / f"{space}"), rows)

    def _commit_without(self, space: int, driver: SinkDriver, rows: int) -> None:
        driver.small_bytes = 0
        old, new = lines(LINE, 1), _incompressible(rows)
        driver.commit({"a": [(LINE, old)]})
        without_space = "without space"
        with no_space_beyond(space):
            staged = _unless_reported(lambda: driver.stage({"b": [(LINE, new)]}), without_space)
        if staged is None:
            self.require_rows(driver, LINE, old, after="after the disk was full while writing")
            shutil.rmtree(driver.sink.state / "staging")
            staged = driver.stage({"b": [(LINE, new)]})
        with no_space_beyond(space):
            published = _unless_reported(lambda: driver.sink.publish(staged), without_space)
        if published is None:
            self.require_rows(driver, LINE, old, after="after the disk was full in publish()")
        driver.publish(staged)
        driver.finish(staged)
        self.require_rows(driver, LINE, old, new, after="after there was space again")

    @promise("no failure of the disk is taken for success", quick=True)
    def test_no_failure_is_swallowed(self, tmp_path: Path) -> None:
        steps = self._commit(self.driver(tmp_path / "undisturbed"), 0)
        faults = min(FAULTS, steps)
        for n in range(faults):
            at = 1 + round(n * (steps - 1) / max(1, faults - 1))
            self._commit(self.driver(tmp_path / f"{at}"), at)

    def _commit(self, driver: SinkDriver, at: int) -> int:
        """Commit, and again where that failed; gives the number of steps that it takes.

        at: the step at which the disk fails once; 0 for none.
        """
        driver.small_bytes = 0
        old, new = lines(LINE, 1), lines(LINE, 1, 2, text="new")
        driver.commit({"a": [(LINE, old)], "b": [(LINE, old)]})
        token = f"commit-{driver.commits}"
        failed = ["no step"]

        def before(number: int, step: str) -> None:
            if number == at:
                failed[0] = step
                raise OSError(errno.EIO, "the disk fails, says harvest's conformance kit")

        switch = Switch(before)
        changes = {"a": [(LINE, new)], "b": None, "c": [(LINE, new)]}

        def prepare() -> Publication:
            publication = driver.stage(changes)
            driver.publish(publication)
            return publication

        with switch.armed():
            publication = _unless_reported(prepare, DISK_FAILS)
            finished = None
            if publication is not None:
                staged = publication
                finished = _unless_reported(lambda: driver.finish(staged), DISK_FAILS)
        when = f"after {failed[0]} failed"
        if publication is None:
            self.require_rows(driver, LINE, old, old, after=when)
            driver.recover(token)
            self.require_rows(driver, LINE, old, old, after=f"{when} and the next run tidied up")
            shutil.rmtree(driver.sink.state / "staging", ignore_errors=True)
            driver.commit(changes)
        elif finished is None:
            driver.finish(publication)
        try:
            self.require_rows(driver, LINE, new, new, after=f"{when} and no error was raised")
        except BrokenPromise as error:
            raise BrokenPromise(error.seen, SWALLOWED) from error
        return switch.steps


def _unless_reported(task: Callable[[], T], when: str) -> T | None:
    """What the task gives; None where it reports that it failed."""
    remedy = "raise OSError or harvest.HarvestError, which the core reports to the user"
    with (
        contextlib.suppress(*REPORTED),
        raises_nothing(f"{when}, it raises ", remedy, but=REPORTED),
    ):
        return task()
    return None


def _incompressible(rows: int) -> pa.Table:
    """Rows that take more space than there is, however they are packed."""
    chance = random.Random(1)  # noqa: S311 - the same in every run
    table = lines(LINE, *range(1, rows + 1))
    texts = [f"{chance.getrandbits(512):0128x}" for _ in range(table.num_rows)]
    index = table.schema.get_field_index("text")
    return table.set_column(index, table.schema.field(index), pa.array(texts))
