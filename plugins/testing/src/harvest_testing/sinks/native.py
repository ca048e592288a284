"""Promises to readers that know the format, and nothing of harvest's manifest."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from harvest import DirectorySink, HarvestError
from harvest_testing.kits import Switch, promise, raises_nothing, require

from .driver import SinkDriver
from .kit import SinkKit
from .values import LINE, OTHER, lines

if TYPE_CHECKING:
    import pyarrow as pa

Rows: TypeAlias = "Counter[tuple[object, ...]]"

COLUMNS = ("origin", "position", "text")


class NativePromises(SinkKit):
    """The tests that read by ``read_natively``."""

    @promise("other readers of the format find the committed rows and no others", quick=True)
    def test_native_readers_find_what_is_committed(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            a, b, c = (lines(LINE, 1, 2, origin=f"/in/{key}") for key in "abc")
            driver.commit({"a": [(LINE, a)], "b": [(LINE, b)], "c": [(LINE, c)]})
            self._require(driver, a, b, c, after="after a commit")
            new = lines(LINE, 1, 2, 3, text="new", origin="/in/b")
            driver.commit({"b": [(LINE, new)]})
            self._require(driver, a, new, c, after="after one partition was replaced")
            driver.commit({"a": None})
            self._require(driver, new, c, after="after one partition was taken out")
            driver.commit({"b": [(OTHER, lines(OTHER, 1, origin="/in/b"))], "d": [(LINE, a)]})
            self._require(driver, c, a, after="after a partition changed its record type")

    @promise("rows of somebody else's are refused, or are not among the committed", quick=True)
    def test_native_readers_find_no_rows_of_others(self, tmp_path: Path) -> None:
        for number, driver in enumerate(self.drivers(tmp_path / "theirs")):
            driver.commit({"a": [(LINE, lines(LINE, 1, text="theirs"))]})
            theirs = Path(driver.files["a"][0].path)
            (place := tmp_path / f"mine {number}").mkdir()
            mine = SinkDriver(self.configured(self.location(place)))
            path = mine.sink.root / theirs.with_stem("limits")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(driver.sink.root / theirs, path)
            with contextlib.suppress(HarvestError):  # refused in words
                mine.commit({"a": [(LINE, lines(LINE, 2))]})
                self._require(mine, lines(LINE, 2), after=f"with {path.name} of somebody else's")

    @promise("other readers of the format find no row that is never committed", quick=True)
    def test_native_readers_find_nothing_given_up(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            old, new = lines(LINE, 1), lines(LINE, 1, 2, text="new")
            driver.commit({"a": [(LINE, old)], "b": [(LINE, old)]})
            token = f"commit-{driver.commits}"
            publication = driver.stage({"a": [(LINE, new)], "b": None, "c": [(LINE, new)]})
            self._require(driver, old, old, after="while partitions are staged")
            driver.sink.publish(publication)  # and the manifest is never renamed
            driver.recover(token)
            self._require(driver, old, old, after="after a commit was given up")

    @promise("while a commit goes on, other readers of the format miss no row", quick=True)
    def test_native_readers_may_read_at_any_step(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            self._read_while_committing(driver)

    def _read_while_committing(self, driver: SinkDriver) -> None:
        old, new = lines(LINE, 1), lines(LINE, 1, 2, text="new")
        driver.commit({"a": [(LINE, old)], "b": [(LINE, old)]})
        publication = driver.stage({"a": [(LINE, new)], "c": [(LINE, new)]})
        before, after = _rows_of(old, old), _rows_of(new, old, new)
        present, next_ = self._either(before, after), self._either(after, before)

        def see_old(number: int, step: str) -> None:
            self._require_that(present, driver, f"before {step} in publish()")

        def see_either(number: int, step: str) -> None:
            if self._natively(driver) != before:
                self._require_that(next_, driver, f"before {step} in finish()")

        with Switch(see_old).armed():
            driver.publish(publication)
        self._require_that(present, driver, "before finish()")
        with Switch(see_either).armed():
            driver.finish(publication)
        self._require(driver, new, old, new, after="after the commit")

    def _either(self, whole: Rows, others: Rows) -> Callable[[Rows], bool]:
        """Whether rows are ``whole``; with some of ``others`` where the format may mix them."""
        mixes = self.mixes_while_committing or issubclass(self.sink, DirectorySink)
        return lambda rows: rows == whole or (mixes and whole <= rows and rows - whole <= others)

    def _require(self, driver: SinkDriver, *tables: pa.Table, after: str) -> None:
        self.require_rows(driver, LINE, *tables, after=after)
        expected = _rows_of(*tables)
        self._require_that(lambda rows: rows == expected, driver, after)

    def _require_that(self, holds: Callable[[Rows], bool], driver: SinkDriver, when: str) -> None:
        found = self._natively(driver)
        require(
            holds(found),
            f"{when}, the format's own tools find {_in_words(found)}",
            "remove rows that are replaced, and let rows be found from finish() on; files of a "
            "directory may lie beside each other until then (mixes_while_committing)",
        )

    def _natively(self, driver: SinkDriver) -> Rows:
        with raises_nothing(
            "read_natively() raises ",
            "let committed files be readable by the format's own tools, at any time",
        ):
            frame = self.read_natively(driver.sink.location, LINE)
            return Counter(frame.select(COLUMNS).rows())


def _rows_of(*tables: pa.Table) -> Rows:
    return Counter(
        tuple(row[name] for name in COLUMNS) for table in tables for row in table.to_pylist()
    )


def _in_words(rows: Rows) -> str:
    return ", ".join(f"{count} x {row!r}" for row, count in sorted(rows.items())) or "no rows"
