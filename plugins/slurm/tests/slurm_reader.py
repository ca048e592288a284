"""A dataset of dumps for tests of views and reports, held in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

import harvest
from harvest import Collected, collect
from harvest_accounting import calendar
from harvest_accounting.job_runs import Jobs, of_scheduler
from harvest_slurm.accounting import JOB_RUNS
from harvest_slurm.config import SlurmConfig
from harvest_slurm.plugin import harvest_reports, harvest_rules, harvest_views
from harvest_slurm.records import Job, Step
from harvest_slurm.source import SlurmSource

VIEWS = {view.name: view.build for view in harvest_views()}
REPORTS = {report.name: report.build for report in harvest_reports()}
RULES = [rule for rule in harvest_rules() if rule.view != "notes"]


def zone_of(data: Reader, wanted: str | None) -> calendar.Zone:
    """The zone of the days of a reader's jobs."""
    return calendar.zone_of(Jobs.of(data, of_scheduler(JOB_RUNS)), wanted)


def clock(seconds: float) -> str:
    """A duration as sacct prints it: ``[D-]HH:MM:SS``."""
    days, rest = divmod(int(seconds), 86_400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


def write_rows(path: Path, names: Sequence[str], rows: Iterable[Mapping[str, str]]) -> Path:
    """Write what sacct prints of rows with these fields."""
    lines = ["|".join(row.get(name, "") for name in names) for row in rows]
    path.write_text("\n".join(["|".join(names), *lines, ""]))
    return path


def read_dump(place: Path, text: str | bytes, **config: Any) -> Collected:
    """What the source makes of a dump; each unit of it is accounted for.

    place: the file to be written, or its folder.
    """
    path = place / "dump.txt" if place.is_dir() else place
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    found = collect(SlurmSource(str(path), SlurmConfig(**config)))
    assert found.units in (None, found.accounted)
    return found


def as_served(table: pa.Table) -> pl.DataFrame:
    """The rows as a dataset gives them: maps are lists of entries."""
    for place, field in enumerate(table.schema):
        if pa.types.is_map(field.type):
            entry = pa.struct([("key", field.type.key_type), ("value", field.type.item_type)])
            column = table.column(place).cast(pa.list_(entry))
            table = table.set_column(place, field.name, column)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.with_columns(pl.col("origin").cast(pl.String))


class Reader:
    """A dataset of what some dumps held."""

    def __init__(self, *paths: Path, **config: Any):
        self.zone = config.get("timezone")
        self.notes: list[str] = []
        gathered: dict[str, list[pl.DataFrame]] = {}
        for path in paths:
            found = collect(SlurmSource(str(path), SlurmConfig(**config)))
            assert not found.rejects
            self.notes += found.notes
            for name, table in found.tables.items():
                gathered.setdefault(name, []).append(as_served(table))
        self.frames = {name: pl.concat(frames) for name, frames in gathered.items()}

    def __contains__(self, name: object) -> bool:
        return name in self.frames

    def __getitem__(self, name: str) -> pl.LazyFrame:
        if name not in self.frames:
            cls = {"slurm.job": Job, "slurm.step": Step}[name]
            return as_served(harvest.record_type(cls).arrow_schema.empty_table()).lazy()
        return self.frames[name].lazy()

    def view(self, name: str, **settings: Any) -> pl.LazyFrame:
        return VIEWS[name](self, **settings)  # type: ignore[no-any-return,operator]

    def harvested_with(self, source: str, setting: str) -> list[Any]:
        return [self.zone]


def dataset(path: Path, *lines: str, zone: str | None = "UTC") -> Reader:
    """A dataset of a dump with these lines, the header first."""
    path.write_text("\n".join([*lines, ""]))
    return Reader(path, timezone=zone)
