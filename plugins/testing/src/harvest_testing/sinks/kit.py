"""The parameters that an author declares about a sink, and helpers of the tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import attrs
import polars as pl
import pyarrow as pa
from polars.testing import assert_frame_equal

from harvest import HarvestError, Sink, UsageError
from harvest.model import RecordType
from harvest.model.frames import frame_of
from harvest_testing.promise import BrokenPromise, Conformance, does_not_apply, raises_nothing

from .driver import SinkDriver
from .values import KINDS

REPORTED = (HarvestError, OSError)
"""Errors that the core reports to the user; any other looks like a defect."""


class SinkKit(Conformance):
    """The parameters of the kit for sinks; an author sets ``sink``.

    sink: the class under test.
    settings: the sink's settings (key -> value) in all tests.
    kinds: names of the kinds of values that the sink can hold (``harvest_testing.sinks.values``).
    deterministic: whether equal rows give equal published bytes; staged files must always be equal.
    """

    sink: ClassVar[type[Sink]]
    kinds: ClassVar[tuple[str, ...]] = tuple(KINDS)
    deterministic: ClassVar[bool] = True

    def location(self, directory: Path) -> Path | str:
        """Return the location to write, below an existing empty directory."""
        return directory / "out"

    def read_natively(self, location: Path | str, record_type: RecordType) -> pl.DataFrame:
        """Read the rows of a type as other tools of the format do, without harvest's manifest.

        The order of rows does not matter. The tests call this only for types that have rows.
        """
        does_not_apply(
            "a test class of its own must define read_natively(self, location, record_type), "
            "which gives a polars frame by the format's own tools"
        )

    def choices(self) -> dict[str, list[str]]:
        """Make one test for each kind of value."""
        return {"kind": list(self.kinds)}

    # --- helpers of the tests ---------------------------------------------------------------------

    def open(self, directory: Path) -> Sink:
        """Make the sink in a directory, configured as in a run; skip the test if it refuses."""
        directory.mkdir(parents=True, exist_ok=True)
        sink: Sink = self.made("sink", self.location(directory))
        try:
            sink.check()
        except UsageError as error:
            does_not_apply(f"it does not write to {sink.location}: {error}")
        return sink

    def driver(self, directory: Path) -> SinkDriver:
        """Make a driver of the sink in a directory."""
        return SinkDriver(self.open(directory))

    def drivers(self, directory: Path) -> Iterator[SinkDriver]:
        """Yield a driver for each way to write rows: with a writer each, and in shared files.

        Each driver has its own directory, the parent of its location.
        """
        yield attrs.evolve(self.driver(directory / "apart"), small_bytes=0)
        if self.sink.shares_files:
            yield self.driver(directory / "shared")

    def require_rows(
        self, driver: SinkDriver, kind: RecordType, *tables: pa.Table, after: str
    ) -> None:
        """Require that a type's committed rows are those of the tables, in order, and counted."""
        expected = pl.concat(
            [frame_of(kind, table) for table in (kind.arrow_schema.empty_table(), *tables)]
        )
        files = [file for of_part in driver.files.values() for file in of_part]
        counted = sum(file.rows for file in files if file.record_type == kind.name)
        if counted != expected.height and all(file.record_type != "events" for file in files):
            raise BrokenPromise(
                f"{after}, the sink reports {counted} of {expected.height} rows of {kind.name}",
                "let PartWriter.close() count the rows of all calls of write()",
            )
        with raises_nothing(
            f"{after}, reading {kind.name} raises ",
            "files that a manifest names stay readable until another one is in force",
        ):
            try:
                found = driver.scan(kind).collect()
                assert_frame_equal(found, expected, check_exact=True)
                nested = [n for n, kind in expected.schema.items() if kind.is_nested()]
                one, other = (repr(frame.select(nested).rows()) for frame in (found, expected))
                if one != other:  # polars takes a structure of nulls and a null as equal
                    raise AssertionError(f"{one[:200]}, not {other[:200]}")
            except AssertionError as error:
                raise BrokenPromise(
                    f"{after}, the rows of {kind.name} are not those that were written: {error}",
                    "let scan() give all rows of the files it is given, in order, in the types of "
                    "harvest.model.frames.polars_schema(record_type)",
                ) from error
