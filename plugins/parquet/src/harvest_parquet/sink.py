"""The sink ``parquet``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import polars as pl

from harvest import DirectorySink, PartFile, PartWriter, RecordType, UsageError
from harvest.model.frames import native_schema, plain_columns, polars_schema
from harvest.plugins.sink import Publication

from .sharing import share
from .writer import ParquetPartWriter

__all__ = ["Config", "ParquetSink"]

_LEVELS = {"zstd": (1, 22), "gzip": (1, 9), "snappy": None, "none": None}


def _known(_: Any, attribute: attrs.Attribute[Any], value: str) -> None:
    if value not in _LEVELS:
        raise ValueError(f"{attribute.name} must be one of {', '.join(_LEVELS)}, not {value!r}")


def _positive(_: Any, attribute: attrs.Attribute[Any], value: int) -> None:
    if value < 1:
        raise ValueError(f"{attribute.name} must be at least 1, not {value}")


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the sink ``parquet``."""

    compression: str = attrs.field(
        default="zstd",
        validator=_known,
        metadata={"doc": "Compression of column chunks: zstd, gzip, snappy or none."},
    )
    level: int = attrs.field(
        default=1,
        metadata={"doc": "Compression level of zstd (1 to 22) or gzip (1 to 9)."},
    )
    row_group_rows: int = attrs.field(
        default=262_144,
        validator=_positive,
        metadata={"doc": "Rows of a row group; fewer where they take more than 64 MiB."},
    )

    @level.validator
    def _fits(self, _: attrs.Attribute[Any], value: int) -> None:
        levels = _LEVELS.get(self.compression)
        if levels is not None and not levels[0] <= value <= levels[1]:
            raise ValueError(
                f"level must be {levels[0]} to {levels[1]} for {self.compression}, not {value}"
            )

    def options(self) -> dict[str, Any]:
        """As keyword arguments of ``pyarrow.parquet.ParquetWriter``."""
        level = None if _LEVELS[self.compression] is None else self.level
        return {
            "version": "2.6",
            "compression": self.compression,
            "compression_level": level,
            "write_statistics": True,
            "write_page_index": True,
        }


class ParquetSink(DirectorySink):
    """Writes ``DIR/<record type>/<part>.parquet``.

    The files carry the record type's name, version and description in their schema's metadata,
    and each column's unit, role and description in the column's.
    """

    name = "parquet"
    Config = Config
    suffix: ClassVar[str] = ".parquet"

    def check(self) -> None:
        """Raise UsageError when the location cannot be a dataset of this sink."""
        super().check()
        shown = os.fsencode(self.root).decode("utf-8", "backslashreplace")
        if shown != str(self.root):
            raise UsageError(
                "Arrow and polars take no path that is not UTF-8",
                where=shown,
                remedy="write to another directory",
            )

    def writer(self, staging: Path, part: str) -> PartWriter:
        """A writer of one partition."""
        return ParquetPartWriter(
            staging,
            partial(self.place, part=part),
            group_rows=self.config.row_group_rows,
            options=self.config.options(),
        )

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Write the rows of small partitions together, and move all files to their place."""
        shared = share(
            publication,
            root=self.root,
            folder=self.state / "staging" / "shared",
            place=self.place,
            options=self.config.options(),
        )
        return super().publish(shared)

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """The rows of one record type, lazily.

        Columns that files of an older version of the type lack are null; those of a newer version
        that the type does not have are left out.
        """
        wanted = [file for file in files if file.record_type == record_type.name]
        if not wanted:
            return pl.LazyFrame(schema=polars_schema(record_type))
        # some files hold rows of several partitions, and not all of these need be asked for
        taken = Counter[str]()
        for file in wanted:
            taken[file.path] += file.rows
        whole = [file for file in wanted if file.file_rows in (None, taken[file.path])]
        partly = [file for file in wanted if file.file_rows not in (None, taken[file.path])]
        frames = [
            _scan(self.paths([file]), record_type).slice(file.first_row or 0, file.rows)
            for file in partly
        ]
        if whole:
            frames.insert(0, _scan(list(dict.fromkeys(self.paths(whole))), record_type))
        frame = pl.concat(frames) if len(frames) > 1 else frames[0]
        return frame.select(plain_columns(record_type))


def _scan(paths: Sequence[Path], record_type: RecordType) -> pl.LazyFrame:
    return pl.scan_parquet(
        paths,
        schema=native_schema(record_type),
        missing_columns="insert",
        extra_columns="ignore",
        cast_options=pl.ScanCastOptions(
            integer_cast="upcast",
            missing_struct_fields="insert",
            extra_struct_fields="ignore",
        ),
        glob=False,
        hive_partitioning=False,
    )
