"""Promises about a dataset as its surroundings see it: modes, names, values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from harvest.model import Record, RecordType, field, record, record_type
from harvest.model.arrow import table_of
from harvest_testing.kits import does_not_apply, promise, raises_nothing, require

from .kit import REPORTED, SinkKit
from .values import KINDS, LINE, lines, table_with

if TYPE_CHECKING:
    from .driver import SinkDriver

PLAIN = ("text", "boolean", "integer", "id", "number", "time")
"""Kinds of values that every format has some way to write, which is compared."""

MASKS = (0o022, 0o077)


@record("conformance.names", layer="workflow", level="client")
class Names(Record):
    """A row whose columns have names that are easily confused."""

    zLast: str = field(role="subject", doc="A name that begins small.")  # noqa: N815
    Value: int | None = field(doc="A name with a capital.")
    value2: int | None = field(doc="A name that differs from it little.")
    select: str | None = field(doc="A word of SQL.")
    aFirst: str | None = field(doc="The last column, whose name comes first.")  # noqa: N815


NAMES = record_type(Names)


class PlacePromises(SinkKit):
    """The tests of modes, names of parts and columns, and values as other tools find them."""

    @promise("no file is open to more users than the umask says, and none can be executed",
             quick=True)  # fmt: skip
    def test_files_are_as_private_as_asked(self, tmp_path: Path) -> None:
        for mask in MASKS:
            before = os.umask(mask)
            try:
                for driver in self.drivers(tmp_path / f"{mask:o}"):
                    driver.commit({"a": [(LINE, lines(LINE, 1))], "b": [(LINE, lines(LINE, 2))]})
                    driver.commit({"a": [(LINE, lines(LINE, 3))]})
                    self._require_private(driver, mask)
            finally:
                os.umask(before)

    def _require_private(self, driver: SinkDriver, mask: int) -> None:
        for path in (driver.sink.root, *sorted(driver.sink.root.rglob("*"))):
            mode = path.stat().st_mode & 0o777
            forbidden = mask | (0 if path.is_dir() else 0o111)
            require(
                not mode & forbidden,
                f"with a umask of {mask:03o}, {path.name} has the mode {mode:03o}",
                "open files as others do, without chmod; the user's umask decides who may read",
            )

    @promise("parts whose names begin alike, and states of one part, are kept apart", quick=True)
    def test_similar_names_do_not_clash(self, tmp_path: Path) -> None:
        def alike(key: str, state: str) -> str:
            return f"words-{'0' * 15}{ord(key[-1]) % 16:x}-{state.partition('-')[2]:>012}"

        for driver in self.drivers(tmp_path):
            driver.stem = alike
            rows = {key: lines(LINE, 1, 2, text=key) for key in "abc"}
            driver.commit({key: [(LINE, rows[key])] for key in "abc"})
            self.require_rows(driver, LINE, *rows.values(), after="of parts with names alike")
            new = lines(LINE, 1, text="new")
            driver.commit({"b": [(LINE, new)]})
            after = "after one of several parts with names alike was replaced"
            self.require_rows(driver, LINE, rows["a"], new, rows["c"], after=after)

    @promise("names of columns keep their case, and columns their order", quick=True)
    def test_columns_keep_their_names(self, tmp_path: Path) -> None:
        table = table_of(NAMES, list(_named_rows()))
        for driver in self.drivers(tmp_path):
            try:
                driver.commit({"a": [(NAMES, table)]})
            except REPORTED as error:
                does_not_apply(f"it refuses such names: {error}")
            self.require_rows(driver, NAMES, table, after="with names in capitals")

    @promise("other readers of the format find the columns and values that were written",
             quick=True)  # fmt: skip
    def test_native_readers_find_the_values(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            tables = {KINDS[k]: table_with(k) for k in PLAIN if k in self.kinds}
            tables[NAMES] = table_of(NAMES, list(_named_rows()))
            driver.commit({"a": list(tables.items())})
            for kind, table in tables.items():
                self._require_natively(driver, kind, table.to_pylist())

    def _require_natively(
        self, driver: SinkDriver, kind: RecordType, rows: list[dict[str, Any]]
    ) -> None:
        with raises_nothing(
            f"read_natively() of {kind.name} raises ",
            "let committed files be readable by the format's own tools, whatever columns they have",
        ):
            frame = self.read_natively(driver.sink.location, kind)
        remedy = "write the record type's columns by their names, and values as they are"
        for column in (c for c in kind.columns if c.name not in ("extra", "origin")):
            other = [n for n in frame.columns if n.lower() == column.name.lower()]
            require(
                column.name in frame.columns,
                f"{kind.name} has the column {column.name!r}, and the format's own tools find "
                f"{other or frame.columns}",
                remedy,
            )
            plain = partial(_plain, column.python_type)
            values = map(plain, frame[column.name])
            found = sorted(zip(frame["position"], values, strict=True))
            wanted = sorted((row["position"], plain(row[column.name])) for row in rows)
            for (position, one), (_, other_one) in zip(found, wanted, strict=False):
                require(
                    one == other_one,
                    f"{kind.name}.{column.name} at position {position} is {one[:60]}, written was "
                    f"{other_one[:60]}",
                    remedy,
                )
            require(len(found) == len(wanted), f"{len(found)} rows of {len(wanted)}", remedy)


def _named_rows() -> Iterator[Names]:
    for number in (1, 2, 3):
        row = Names(zLast=f"z{number}", Value=number, value2=-number, select="x", aFirst=None)
        yield attrs.evolve(row, origin="/in", position=number)


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
