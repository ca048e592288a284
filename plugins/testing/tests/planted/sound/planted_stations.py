"""The source stations: a directory for each weather station, with a CSV file for each day.

All files of a station are one partition, and read in columns.  ``station.json`` beside them says
where the station is, and is one more input of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import polars as pl

import harvest
from harvest import Detection, Partition, ReadContext, Record, SourceError, field
from harvest.toolkit.files import folders_of, input_path, walk_files
from harvest.toolkit.settings import setting
from harvest.toolkit.texts import printable
from harvest_toolkit.csv_header import column_names, header_line
from harvest_toolkit.delimited import Block, tables

COLUMNS = ("time", "quantity", "value", "unit")
SITE = "station.json"
TIME = "%Y-%m-%dT%H:%M:%S%.f%:z"


@harvest.record("planted.reading", layer="system", level="process")
class Reading(Record):
    """What a station read."""

    time: datetime = field(role="time", doc="When it was read.")
    station: str = field(role="subject", doc="The name of the station's directory.")
    quantity: str = field(doc="What was read.")
    value: float | None = field(doc="Its value; null where the sensor gave none.")
    unit: str | None = field(doc="Unit of the value, as the file names it.")
    site: str | None = field(doc="Where the station is; null where nobody wrote it down.")


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the source."""

    quantity: str | None = setting("Keep readings of this quantity only.")
    folders: int = setting("How many levels of directories hold stations.", 1)


class StationsSource(harvest.Source):
    """Readings of weather stations."""

    name = "planted-stations"
    record_types = (Reading,)
    Config = Config

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By the names of the columns."""
        if not path.is_file() or path.suffix != ".csv":
            return None
        if set(COLUMNS) <= set(column_names(header_line(path))):
            return Detection(0.9, "the names of its columns")
        return None

    def plan(self) -> Iterator[Partition]:
        """A partition for each directory with CSV files."""
        path = input_path(self.location)
        if not path.is_dir():
            yield station(path.parent, path.parent, [path])
            return
        found = False
        for folder, files in walk_files(path, depth=self.config.folders):
            if inputs := inputs_among(files):
                found = True
                yield station(path, folder, inputs)
        if not found:
            raise SourceError("no station is here", where=str(path), remedy="check the location")

    def plan_files(self, files: Iterable[Path]) -> Iterator[Partition]:
        """The stations that some files are of."""
        path = input_path(self.location)
        if not path.is_dir():
            if path in files:
                yield station(path.parent, path.parent, [path])
            return
        for folder in folders_of(path, files, depth=self.config.folders):
            _, there = next(walk_files(folder, depth=0))
            if inputs := inputs_among(there):
                yield station(path, folder, inputs)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[tuple[type[Record], Any]]:
        """The readings of all files of a station; a file that is none is one reject."""
        site = site_of(partition, ctx)
        for name in partition.inputs:
            path = Path(name)
            if path.name == SITE:
                continue
            try:
                yield from self._read_file(path, partition, site, ctx)
            except (OSError, SourceError) as error:
                ctx.read(1)
                ctx.reject(b"", f"cannot be read: {error}", origin=printable(name))

    def _read_file(
        self, path: Path, partition: Partition, site: str | None, ctx: ReadContext
    ) -> Iterator[tuple[type[Record], Any]]:
        origin = printable(str(path))
        names = column_names(header_line(path))
        if not set(COLUMNS) <= set(names) or len(set(names)) != len(names):
            if path.stat().st_size == 0:
                return
            raise SourceError("its first line does not name the columns of readings")
        for texts, block in tables(path, names, count_lines=True):
            ctx.advance(block.read_bytes)
            ctx.read(len(block) + len(block.damages) + block.blank)
            ctx.filtered(block.blank, "empty line")
            for damage in block.damages:
                ctx.reject(damage.raw, damage.reason, position=damage.number, origin=origin)
            rows = readings(pl.DataFrame(texts), block).with_columns(
                station=pl.lit(printable(Path(partition.origin).name)),
                site=pl.lit(site, pl.String),
                origin=pl.lit(origin),
            )
            for row in rows.filter(pl.col("fault").is_not_null()).iter_rows(named=True):
                raw = block.raw(row["row"])
                ctx.reject(raw, row["fault"], position=row["position"], origin=origin)
            rows = rows.filter(pl.col("fault").is_null()).drop("fault", "row")
            if self.config.quantity is not None:
                wanted = rows.filter(pl.col("quantity") == self.config.quantity)
                ctx.filtered(rows.height - wanted.height, "another quantity")
                rows = wanted
            yield Reading, rows


def inputs_among(files: list[Path]) -> list[Path]:
    """The files of a station among those of a directory; none where it is no station's."""
    if not any(file.suffix == ".csv" for file in files):
        return []
    return [file for file in files if file.suffix == ".csv" or file.name == SITE]


def station(top: Path, folder: Path, inputs: list[Path]) -> Partition:
    """The partition of a station."""
    return Partition(
        id=str(folder.relative_to(top)),
        origin=str(folder),
        inputs=tuple(map(str, inputs)),
        size_bytes=sum(file.stat().st_size for file in inputs if file.exists()),
    )


def site_of(partition: Partition, ctx: ReadContext) -> str | None:
    """What ``station.json`` says; a file that cannot be understood is noted."""
    path = Path(partition.origin) / SITE
    if str(path) not in partition.inputs:
        return None
    try:
        said = json.loads(path.read_bytes())
        site = said["site"]
        if more := sorted(said.keys() - {"site"}):
            names = printable(", ".join(more))
            ctx.note(f"says what is not read: {names}", origin=printable(str(path)))
        if site is not None and not isinstance(site, str):
            raise TypeError("site is no text")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        ctx.note(f"does not say where the station is: {error!r}", origin=printable(str(path)))
        return None
    return printable(site) if isinstance(site, str) else None


def readings(texts: pl.DataFrame, block: Block) -> pl.DataFrame:
    """The columns of readings; ``fault`` says why a row is none, ``row`` which it is."""
    value = pl.col("value").cast(pl.Float64, strict=False)
    time = pl.col("time").str.to_datetime(TIME, time_unit="us", strict=False)
    fault = (
        pl.when(time.is_null())
        .then(pl.lit("no time with a zone"))
        .when(pl.col("quantity").is_null())
        .then(pl.lit("no quantity"))
        .when(pl.col("value").is_not_null() & value.is_null())
        .then(pl.lit("the value is no number"))
    )
    return texts.select(
        time=time,
        quantity="quantity",
        value=value,
        unit="unit",
        position=pl.Series(block.numbers, dtype=pl.Int64),
        fault=fault,
    ).with_row_index("row")
