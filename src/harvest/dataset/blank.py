"""The sink of a dataset without rows, which serves to find the columns of views."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from harvest.api.directory_sink import DirectorySink
from harvest.api.sink import PartFile, PartWriter
from harvest.errors import UsageError
from harvest.model import RecordType
from harvest.model.frames import no_rows


class Nowhere(DirectorySink):
    """A sink without content: every record type is an empty frame with its columns."""

    name = "nowhere"

    def writer(self, staging: Path, part: str) -> PartWriter:
        raise UsageError("a dataset without rows cannot be written")

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        return no_rows(record_type)
