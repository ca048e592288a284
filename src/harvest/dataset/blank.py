"""The sink of a dataset without rows, which views are asked of for their columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from harvest.api.directory_sink import DirectorySink
from harvest.api.sink import PartFile, PartWriter
from harvest.errors import UsageError
from harvest.model import RecordType
from harvest.model.frames import no_rows


class Nowhere(DirectorySink):
    """Keeps nothing, so that every record type is an empty frame of its columns."""

    name = "nowhere"

    def writer(self, staging: Path, part: str) -> PartWriter:
        raise UsageError("a dataset without rows cannot be written")

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        return no_rows(record_type)
