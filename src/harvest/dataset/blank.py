"""A dataset without rows: what is known of views before anything is harvested."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from harvest.api.directory_sink import DirectorySink
from harvest.api.sink import PartFile, PartWriter
from harvest.errors import UsageError
from harvest.model import RecordType
from harvest.model.frames import polars_schema
from harvest.plugins.registry import PluginManager
from harvest.storage.manifest import Manifest

from .dataset import Dataset

__all__ = ["blank_dataset"]


class _Nowhere(DirectorySink):
    """Keeps nothing, so that every record type is an empty frame of its columns."""

    name = "nowhere"

    def writer(self, staging: Path, part: str) -> PartWriter:
        raise UsageError("a dataset without rows cannot be written")

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        return pl.LazyFrame(schema=polars_schema(record_type))


def blank_dataset(plugins: PluginManager) -> Dataset:
    """A dataset that has no rows of any record type and lies nowhere."""
    sink = _Nowhere("nowhere")
    return Dataset(sink, Manifest(sink=sink.name, location=sink.location), plugins)
