"""The sink ``parquet``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import polars as pl

from harvest import DirectorySink, PartFile, PartWriter, RecordType
from harvest.model.frames import native_schema, plain_columns, polars_schema

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

    def writer(self, staging: Path, part: str) -> PartWriter:
        """A writer of one partition."""
        return ParquetPartWriter(
            staging,
            partial(self.place, part=part),
            group_rows=self.config.row_group_rows,
            options=self.config.options(),
        )

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """The rows of one record type, lazily.

        Columns that files of an older version of the type lack are null; those of a newer version
        that the type does not have are left out.
        """
        paths = self.paths(file for file in files if file.record_type == record_type.name)
        if not paths:
            return pl.LazyFrame(schema=polars_schema(record_type))
        frame = pl.scan_parquet(
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
        return frame.select(plain_columns(record_type))
