"""Rows of Dask runs in memory, without a dataset, and the views over them.

For runs that fit, and for tests of views and of readers: ``Harvested.of`` takes what
``harvest.collect`` gives for the source of any recorder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import polars as pl
import pyarrow as pa

from harvest import Collected, RecordType, Reject, record_type
from harvest_dask.records.types import CAPTURED_TYPES, RECORD_TYPES

from .frames import Frames, load
from .record_names import DASK_TYPES, JOB_TYPES
from .views.summary import run_summary, summary_frame
from .views.tasks import task_frame, tasks
from .views.workers import worker_frame, workers

__all__ = ["Harvested", "MemoryReader"]

DECLARED: dict[str, RecordType] = {
    declared.name: declared for declared in map(record_type, (*RECORD_TYPES, *CAPTURED_TYPES))
}


_VIEWS = {"dask.tasks": tasks, "dask.workers": workers, "dask.run_summary": run_summary}


class MemoryReader:
    """A DatasetReader over Arrow tables of this plugin's record types."""

    def __init__(self, tables: Mapping[str, pa.Table]):
        """tables: rows by name of their record type, each of exactly the declared schema."""
        self._tables = dict(tables)

    def __contains__(self, name: object) -> bool:
        return name in self._tables and self._tables[str(name)].num_rows > 0

    def __getitem__(self, name: str) -> pl.LazyFrame:
        """The rows of a record type; raises KeyError for a type that this plugin lacks."""
        table = self._tables.get(name)
        if table is None:
            table = DECLARED[name].arrow_schema.empty_table()
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)  # a table never becomes a series
        return frame.lazy().with_columns(pl.col("origin").cast(pl.String))

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """One of this plugin's views; raises KeyError for another."""
        return _VIEWS[name](self, **settings)

    def views(self) -> list[str]:
        """Names of the views."""
        return list(_VIEWS)

    def harvested_with(self, source: str, setting: str) -> list[Any]:
        """Nothing: these rows come from no run."""
        return []

    @property
    def notes(self) -> list[str]:
        """The remarks that the source made while reading: none."""
        return []


@attrs.frozen
class Harvested:
    """What was read: rows, rejects and notes.

    units: input units that were read; ``folded``: those merged into another row.
    label: the run that all rows belong to, where the files were named one by one and may lie in
        several directories; otherwise the directory of each file names its run.
    """

    reader: MemoryReader
    rejects: tuple[Reject, ...]
    notes: tuple[str, ...]
    units: int
    folded: int
    label: str | None = None

    @classmethod
    def of(
        cls, collected: Iterable[Collected], label: str | None = None, notes: Iterable[str] = ()
    ) -> Harvested:
        """What sources gave, together; notes: further ones, which come first."""
        parts = list(collected)
        names = {name: None for found in parts for name in found.tables}
        tables = {
            name: pa.concat_tables([c.tables[name] for c in parts if name in c.tables])
            for name in names
        }
        return cls(
            MemoryReader(tables),
            tuple(reject for found in parts for reject in found.rejects),
            (*notes, *(note for found in parts for note in found.notes)),
            sum(found.units or 0 for found in parts),
            sum(sum(found.folded.values()) for found in parts),
            label,
        )

    def tasks(self) -> pl.DataFrame:
        """The view ``dask.tasks``."""
        return task_frame(self._frames()).collect()

    def workers(self) -> pl.DataFrame:
        """The view ``dask.workers``."""
        return worker_frame(self._frames()).collect()

    def summary(self) -> pl.DataFrame:
        """The view ``dask.run_summary``."""
        return summary_frame(self._frames()).collect()

    def _frames(self) -> Frames:
        frames = load(self.reader, (*DASK_TYPES, *JOB_TYPES))
        if self.label is None:
            return frames
        label = pl.lit(self.label)
        return {name: frame.with_columns(run=label) for name, frame in frames.items()}
