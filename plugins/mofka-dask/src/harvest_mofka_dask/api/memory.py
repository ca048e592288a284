"""Harvest a run into memory, without a dataset, and look at it through this plugin's views.

For runs that fit: the object API and ``harvest mofka-dask capture`` stand on it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import polars as pl
import pyarrow as pa

from harvest import (
    Collected,
    RecordType,
    Reject,
    SourceError,
    collect,
    collect_partition,
    file_partition,
    record_type,
)
from harvest_toolkit.csv_header import header_line

from ..frames import DASK_TYPES, JOB_TYPES, Frames, load
from ..live.records import RECORD_TYPES as CAPTURED_TYPES
from ..read.layout import CSV_KINDS, csv_kind_of_header, parse_header
from ..records import RECORD_TYPES
from ..source import MofkaDaskSource
from ..views.summary import run_summary, summary_frame
from ..views.tasks import task_frame, tasks
from ..views.workers import worker_frame, workers

__all__ = ["Harvested", "MemoryReader", "RunFiles", "harvest_directory", "harvest_files"]

DECLARED: dict[str, RecordType] = {
    declared.name: declared for declared in map(record_type, (*RECORD_TYPES, *CAPTURED_TYPES))
}


class MemoryReader:
    """A DatasetReader over Arrow tables of this plugin's record types."""

    def __init__(self, tables: Mapping[str, pa.Table], notes: list[str] | None = None):
        """tables: rows by name of their record type, each of exactly the declared schema."""
        self._tables = dict(tables)
        self._notes = list(notes or [])

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
        known = {"dask.tasks": tasks, "dask.workers": workers, "dask.run_summary": run_summary}
        return known[name](self, **settings)

    def harvested_with(self, source: str, setting: str) -> list[Any]:
        """Nothing: these rows come from no run."""
        return []

    @property
    def notes(self) -> list[str]:
        """The remarks that the source made while reading."""
        return self._notes


@attrs.frozen
class Harvested:
    """What was read: rows, rejects and notes.

    units: input units that were read; folded: those merged into another row.
    label: the run that all rows belong to, where the files were named one by one and may lie in
        several directories; otherwise the directory of each file names its run.
    """

    reader: MemoryReader
    rejects: tuple[Reject, ...]
    notes: tuple[str, ...]
    units: int
    folded: int
    label: str | None = None

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


@attrs.frozen
class RunFiles:
    """The CSVs of one run, each by its role and whatever its name; None where there is none."""

    scheduler: Path | None = None
    workers: Path | None = None
    transitions: Path | None = None
    transfers: Path | None = None
    graph: Path | None = None

    def by_kind(self) -> dict[str, Path]:
        """The files that are there, by the kind that the source reads them as."""
        kinds = {
            "scheduler_transition": self.scheduler,
            "worker": self.workers,
            "worker_transition": self.transitions,
            "worker_transfer": self.transfers,
            "graph": self.graph,
        }
        return {kind: Path(path).absolute() for kind, path in kinds.items() if path is not None}


def harvest_directory(path: Path) -> Harvested:
    """Everything the source reads at a run directory or below.

    Raises SourceError where there is nothing to read.
    """
    return _merge([collect(MofkaDaskSource(str(path)))], None)


def harvest_files(files: RunFiles) -> Harvested:
    """The CSVs of one run, read by their roles.

    Raises SourceError where one is missing, or has not the columns of its role.
    """
    found = files.by_kind()
    if not found:
        raise SourceError("no file is named", remedy="name one CSV at least")
    collected: list[Collected] = []
    empty: list[str] = []
    for kind, path in found.items():
        if not path.is_file():
            raise SourceError("no such file", where=str(path), remedy="check the path")
        if _is_empty(path):
            empty.append(f"{path} holds no rows")
            continue
        _check_columns(path, kind)
        partition = file_partition(path, id=path.name, options={"kind": kind})
        collected.append(collect_partition(MofkaDaskSource(str(path)), partition))
    label = os.path.commonpath([path.parent for path in found.values()])
    return _merge(collected, label, notes=empty)


def _is_empty(path: Path) -> bool:
    """Whether a CSV holds a table of no columns, as pandas writes one that got no row."""
    return header_line(path) in (b"", b'""') and path.stat().st_size <= len(b'""\r\n')


def _check_columns(path: Path, kind: str) -> None:
    columns = parse_header(header_line(path))
    missing = [name for name in CSV_KINDS[kind].required if name not in columns]
    if missing:
        actual = csv_kind_of_header(columns)
        raise SourceError(
            f"is not a {kind} table: it lacks the column {missing[0]!r}",
            where=str(path),
            remedy=f"its columns are those of {actual}.csv" if actual else "name another file",
        )


def _merge(collected: list[Collected], label: str | None, notes: Sequence[str] = ()) -> Harvested:
    names = {name: None for found in collected for name in found.tables}
    return Harvested(
        MemoryReader(
            {
                name: pa.concat_tables([c.tables[name] for c in collected if name in c.tables])
                for name in names
            }
        ),
        tuple(reject for found in collected for reject in found.rejects),
        (*notes, *(note for found in collected for note in found.notes)),
        sum(found.units or 0 for found in collected),
        sum(sum(found.folded.values()) for found in collected),
        label,
    )
