"""``jsonl:-``: write rows to standard output as they are read, in the shape of the events model."""

import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import attrs
import polars as pl
import pyarrow as pa

from harvest import PartFile, PartWriter, Publication, RecordType, Sink, UsageError
from harvest.plugin_code import results

from .piece_writer import encode_event_lines

NAMES: Final = ("-", "/dev/stdout")
"""Locations that mean standard output."""

ROWS: Final = 4_096
"""Rows encoded at a time; with many columns, they take some megabytes."""

_NAME: Final = "standard-output"


class JsonlOutput(Sink):
    """A sink that writes each batch when it is read, and leaves no dataset."""

    name = "jsonl"
    streams = True

    @cached_property
    def root(self) -> Path:
        """Temporary directory for a run's state, removed together with this object."""
        path = tempfile.mkdtemp(prefix="harvest-")
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
        return Path(path)

    def check(self) -> None:
        """Raise UsageError if standard output is closed."""
        try:
            os.fstat(results())
        except OSError:
            raise UsageError(
                "standard output is closed", where=self.location, remedy="name a file"
            ) from None

    def writer(self, staging: Path, part: str) -> PartWriter:
        """Return a writer of one partition's rows."""
        return _Writer(staging)

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Do nothing: rows are not committed."""
        return {}

    def finish(self, publication: Publication) -> None:
        """Do nothing: rows are not committed."""

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """Raise UsageError: rows that were written are not kept."""
        raise UsageError("rows on standard output are not kept", where=self.location)


@attrs.define(eq=False)
class _Writer(PartWriter):
    _staging: Path
    _rows: Counter[str] = attrs.field(factory=Counter)

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        for start in range(0, table.num_rows, ROWS):
            left = encode_event_lines(record_type, table.slice(start, ROWS))
            while left:
                left = left[os.write(results(), left) :]
        self._rows[record_type.name] += table.num_rows

    def close(self) -> Sequence[tuple[str, str, int]]:
        if self._rows:
            (self._staging / _NAME).touch()
        return [(_NAME, name, rows) for name, rows in self._rows.items()]

    def abort(self) -> None:
        """Do nothing: rows that were written cannot be taken back."""
