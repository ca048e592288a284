"""Rows of Dask runs in memory, without a dataset, and views of them.

For small runs, and for tests of views and readers: ``Harvested.of`` takes the results of
``harvest.collect`` for any source of Dask runs.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import attrs
import polars as pl
import pyarrow as pa

from harvest import Collected, Reject, record_type
from harvest.model.frames import frame_of, no_rows
from harvest_dask.records.types import CAPTURED_TYPES, RECORD_TYPES

from .frames import Frames, load
from .record_names import DASK_TYPES, JOB_TYPES
from .views.summary import run_summary, summary_frame
from .views.tasks import task_frame, tasks
from .views.workers import worker_frame, workers

__all__ = ["Harvested", "MemoryReader"]

DECLARED = {kind.name: kind for kind in map(record_type, (*RECORD_TYPES, *CAPTURED_TYPES))}
_VIEWS = {"dask.tasks": tasks, "dask.workers": workers, "dask.run_summary": run_summary}


class MemoryReader:
    """A DatasetReader of Arrow tables of Dask's record types."""

    def __init__(self, tables: Mapping[str, pa.Table]):
        """tables: rows by name of the record type, with exactly its declared schema."""
        self._tables = dict(tables)

    def __contains__(self, name: object) -> bool:
        return name in self._tables and self._tables[str(name)].num_rows > 0

    def __getitem__(self, name: str) -> pl.LazyFrame:
        """Return the rows of a record type; raises KeyError for any other name."""
        declared, table = DECLARED[name], self._tables.get(name)
        return no_rows(declared) if table is None else frame_of(declared, table).lazy()

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """Return the rows of a view in ``views``; raises KeyError for any other name."""
        return _VIEWS[name](self, **settings)

    def views(self) -> list[str]:
        """Return the names of the views."""
        return list(_VIEWS)

    def harvested_with(self, source: str, setting: str) -> list[Any]:
        """Return nothing: these rows were not harvested into a dataset."""
        return []

    @property
    def notes(self) -> list[str]:
        """Notes of the sources: none here, see ``Harvested.notes``."""
        return []


@attrs.frozen
class Harvested:
    """The result of reading: rows, rejects and notes.

    units: number of input units read; ``folded``: number of those merged into another row.
    label: the run of all rows, if files of several directories were named one by one; by default
        the directory of each file names its run.
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
    ) -> Self:
        """Combine the results of sources; notes: further notes, which come first."""
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
        """Compute the view ``dask.tasks``."""
        return task_frame(self._frames()).collect()

    def workers(self) -> pl.DataFrame:
        """Compute the view ``dask.workers``."""
        return worker_frame(self._frames()).collect()

    def summary(self) -> pl.DataFrame:
        """Compute the view ``dask.run_summary``."""
        return summary_frame(self._frames()).collect()

    def _frames(self) -> Frames:
        frames = load(self.reader, (*DASK_TYPES, *JOB_TYPES))
        if self.label is None:
            return frames
        label = pl.lit(self.label)
        return {name: frame.with_columns(run=label) for name, frame in frames.items()}
