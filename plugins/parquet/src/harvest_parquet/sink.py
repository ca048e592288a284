"""The sink ``parquet`` and its settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from harvest import DirectorySink, PartFile, PartWriter, Publication, RecordType, UsageError
from harvest.toolkit.settings import at_least, one_of, setting
from harvest.toolkit.texts import printable

if TYPE_CHECKING:
    import polars as pl

_LEVELS = {"zstd": (1, 22), "gzip": (1, 9), "snappy": None, "none": None}


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the sink ``parquet``."""

    compression: str = setting(
        "Compression of column chunks: zstd, gzip, snappy or none.", "zstd", one_of(_LEVELS)
    )
    level: int = setting("Compression level of zstd (1 to 22) or gzip (1 to 9).", 1)
    row_group_rows: int = setting(
        "Rows of a row group; fewer where they take more than 64 MiB.", 262_144, at_least(1)
    )

    @level.validator
    def _fits(self, _: attrs.Attribute[Any], value: int) -> None:
        levels = _LEVELS.get(self.compression)
        if levels is not None and not levels[0] <= value <= levels[1]:
            raise ValueError(
                f"level must be {levels[0]} to {levels[1]} for {self.compression}, not {value}"
            )

    def options(self) -> dict[str, Any]:
        """Return the settings as keyword arguments of ``pyarrow.parquet.ParquetWriter``."""
        level = None if _LEVELS[self.compression] is None else self.level
        return {
            "version": "2.6",
            "compression": self.compression,
            "compression_level": level,
            "write_statistics": True,
            "write_page_index": True,
            "write_batch_size": 16_384,  # values at a time; the default of 1,024 costs 5 % more
        }


class ParquetSink(DirectorySink):
    """A sink that writes ``DIR/<record type>/<part>.parquet``.

    The metadata of a file's schema contains the record type's name, version and description. The
    metadata of a column contains its unit, role and description.
    """

    name = "parquet"
    Config = Config
    shares_files = True
    suffix: ClassVar[str] = ".parquet"

    def check(self) -> None:
        """Raise UsageError if the location cannot be a dataset of this sink."""
        super().check()
        shown = printable(str(self.root))
        if shown != str(self.root):
            problem = "Arrow and polars take no path that is not UTF-8"
            raise UsageError(problem, where=shown, remedy="write to another directory")

    def writer(self, staging: Path, part: str) -> PartWriter:
        """Return a writer of one partition."""
        from .writer import ParquetPartWriter  # imports Arrow's Parquet, not needed for planning

        return ParquetPartWriter(
            staging,
            partial(self.place, part=part),
            group_rows=self.config.row_group_rows,
            options=self.config.options(),
        )

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Write the rows of small partitions together, and move all files to their final paths."""
        broken = _broken_files(publication)
        if publication.small or broken:
            from .sharing import share  # imports Arrow's Parquet, not needed for other commits

            publication = share(
                publication,
                broken,
                paths=self.paths,
                folder=self.state / "staging" / "shared",
                place=self.place,
                options=self.config.options(),
            )
        return super().publish(publication)

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """Return the rows of one record type as a lazy frame.

        Columns that files of an older version of the type lack are null. Columns of a newer version
        that the type does not have are omitted.
        """
        from .scanning import scan  # imports polars, not needed for writing

        return scan(self, files, record_type)


def _broken_files(publication: Publication) -> set[str]:
    """Return the paths of committed shared files that lose rows, but that other parts still name.

    Even a part without rows in a file would keep the file, with the rows of the removed parts.
    """
    kept = Counter(publication.parts.shared_rows())
    for files in publication.parts.pick(publication.staged).values():
        for file in files:
            if file.file_rows is not None:
                kept[file.path, file.file_rows] -= file.rows
    broken = {path for (path, rows), count in kept.items() if count not in (0, rows)}
    emptied = {path for (path, rows), count in kept.items() if rows and not count}
    if emptied:
        users = set(publication.parts.users_of(emptied)) - publication.staged.keys()
        named = (file.path for files in publication.parts.pick(users).values() for file in files)
        broken.update(emptied.intersection(named))
    return broken
