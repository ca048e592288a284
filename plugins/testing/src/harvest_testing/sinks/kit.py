"""What an author declares to the kit about a sink, and what its tests are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import attrs
import polars as pl
from polars.testing import assert_frame_equal

from harvest import HarvestError, PartFile, Sink, UsageError
from harvest.model import RecordType
from harvest.model.frames import frame_of
from harvest_testing.promise import (
    BrokenPromise,
    Conformance,
    does_not_apply,
    raises_nothing,
)

from .driver import SinkDriver, files_with
from .values import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

REPORTED = (HarvestError, OSError)
"""Errors that the core passes on to the user; any other looks like a defect."""


class SinkKit(Conformance):
    """The knobs of the kit for sinks; an author sets ``sink``.

    sink: the class under test.
    settings: key -> value of its settings, for all tests.
    kinds: names of the kinds of values that the sink can hold (``harvest_testing.sinks.values``).
    deterministic: whether equal rows give equal bytes in what it publishes; staged files always do.
    """

    sink: ClassVar[type[Sink]]
    kinds: ClassVar[tuple[str, ...]] = tuple(KINDS)
    deterministic: ClassVar[bool] = True

    def location(self, directory: Path) -> Path | str:
        """Where to write, below an existing empty directory."""
        return directory / "out"

    def read_natively(self, location: Path | str, record_type: RecordType) -> pl.DataFrame:
        """The rows of a type as other tools for the format find them, without harvest's manifest.

        Their order does not matter.  It is asked for types that have rows.
        """
        does_not_apply(
            "a test class of its own must define read_natively(self, location, record_type), "
            "which gives a polars frame by the format's own tools"
        )

    def choices(self) -> dict[str, list[str]]:
        """One test for every kind of value."""
        return {"kind": list(self.kinds)}

    # --- what tests are made of -------------------------------------------------------------------

    def open(self, directory: Path) -> Sink:
        """The sink in a directory, configured as a run would; ends the test where it cannot be."""
        directory.mkdir(parents=True, exist_ok=True)
        sink: Sink = self.configured(self.location(directory))
        try:
            sink.check()
        except UsageError as error:
            does_not_apply(f"it does not write to {sink.location}: {error}")
        return sink

    def configured(self, location: Path | str) -> Sink:
        """The sink for a location, whatever it is."""
        sink: Sink = self.made("sink", location)
        return sink

    def driver(self, directory: Path) -> SinkDriver:
        """A driver of the sink in a directory."""
        return SinkDriver(self.open(directory))

    def drivers(self, directory: Path) -> Iterator[SinkDriver]:
        """A driver for each way that rows take: through writers, and of small partitions together.

        Each has a directory of its own, which is the parent of its location.
        """
        yield attrs.evolve(self.driver(directory / "apart"), small_bytes=0)
        if self.sink.shares_files:
            yield self.driver(directory / "shared")

    def require_rows(
        self, driver: SinkDriver, kind: RecordType, *tables: pa.Table, after: str
    ) -> None:
        """The committed rows of a type are those of the tables, in order."""
        self.require_scan(driver.sink, driver.files, kind, *tables, after=after)

    def require_scan(
        self,
        sink: Sink,
        files: Mapping[str, Iterable[PartFile]],
        kind: RecordType,
        *tables: pa.Table,
        after: str,
    ) -> None:
        """What ``scan`` gives for the files of a manifest is what the tables hold."""
        expected = pl.concat(
            [frame_of(kind, table) for table in (kind.arrow_schema.empty_table(), *tables)]
        )
        with raises_nothing(
            f"{after}, reading {kind.name} raises ",
            "files that a manifest names stay readable until another one is in force",
        ):
            try:
                found = sink.scan(files_with(kind, files), kind).collect()
                assert_frame_equal(found, expected, check_exact=True)
                nested = [n for n, kind in expected.schema.items() if kind.is_nested()]
                one, other = (repr(frame.select(nested).rows()) for frame in (found, expected))
                if one != other:  # as a structure of nulls is from null, for all that polars says
                    raise AssertionError(f"{one[:200]}, not {other[:200]}")
            except AssertionError as error:
                raise BrokenPromise(
                    f"{after}, the rows of {kind.name} are not those that were written: {error}",
                    "let scan() give all rows of the files it is given, in order, in the types of "
                    "harvest.model.frames.polars_schema(record_type)",
                ) from error
