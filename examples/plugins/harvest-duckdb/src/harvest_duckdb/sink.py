"""The sink ``duckdb``: one file that is replaced as a whole.

A partition is staged as one Parquet file for each record type in it.  Publishing builds the next
database in the state directory, and leaves the present one as it is; renaming it into place
finishes the commit.  Killed before the manifest is renamed, the next database is thrown away;
killed after that, the next run renames it.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from harvest import (
    DatasetError,
    PartFile,
    PartWriter,
    Publication,
    RecordType,
    Sink,
    UsageError,
)
from harvest.model.arrow import conform
from harvest.model.frames import frame_of, polars_schema
from harvest.toolkit.files import fsync_directory
from harvest.toolkit.plain import checksum
from harvest.toolkit.texts import printable
from harvest_toolkit.frames import deferred

from .database import Piece, build, read

__all__ = ["DuckdbSink"]


class DuckdbSink(Sink):
    """Writes ``FILE.duckdb``: a table for each record type, called as the type is."""

    name = "duckdb"

    @property
    def path(self) -> Path:
        """The database."""
        return Path(os.path.abspath(Path(self.location).expanduser()))  # noqa: PTH100 - keeps links

    @property
    def root(self) -> Path:
        """The directory that it is in."""
        return self.path.parent

    @property
    def state(self) -> Path:
        """``FILE.duckdb._harvest`` beside it."""
        return self.path.with_name(self.path.name + "._harvest")

    def check(self) -> None:
        """Raise UsageError when the location cannot be a database of this sink."""
        where = printable(str(self.path))
        if self.path.suffix != ".duckdb":
            raise UsageError("this is no FILE.duckdb", where=where, remedy="end it in .duckdb")
        if {"?", "\\"} & set(where) or where != str(self.path):
            raise UsageError(
                "DuckDB takes no path with a question mark, backslash or bytes that are not UTF-8",
                where=where,
                remedy="give another path",
            )
        if self.path.is_dir():
            raise UsageError("this is a directory", where=where, remedy="give the path of a file")
        if self.path.exists() and not self.state.is_dir():
            raise UsageError(
                "the database was not written by harvest and would be replaced",
                where=where,
                remedy="give another path, or move the database away",
            )

    def writer(self, staging: Path, part: str) -> PartWriter:
        """A writer of one partition."""
        return _PieceWriter(staging)

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Write the next database in full, durably; the present one stays as it is.

        Raises DatasetError when the present one is not what the manifest says.
        """
        kept = [f for key in publication.parts.keys() - publication.staged.keys()
                for f in publication.parts[key]]  # fmt: skip
        if kept and not _is(self.path, kept[0]):
            raise DatasetError(
                "the database is not what was written there (checksum)",
                where=str(self.path),
                remedy="restore it from a backup, or harvest into a new one",
            )
        following = self._next(publication.token)
        self._remove(following)
        tables: dict[str, list[Piece]] = {}
        sizes: dict[str, int] = {}
        placed: dict[str, list[PartFile]] = {}
        for key, files in publication.parts.items():
            staged = publication.staged.get(key)
            placed[key] = []
            for file in files:
                name, first = file.record_type, sizes.get(file.record_type, 0)
                # of a state that is gone back to, a whole database is staged
                path = staged / file.path if staged else self.path
                _append(tables.setdefault(name, []), Piece(path, file.rows, file.first_row))
                sizes[name] = first + file.rows
                placed[key].append(attrs.evolve(file, first_row=first))
        build(following, tables)
        fsync_directory(following)
        fsync_directory(self.state)
        facts = {
            "path": self.path.name,
            "size_bytes": following.stat().st_size,
            "sha256": checksum(following),
        }
        return {
            key: [attrs.evolve(f, file_rows=sizes[f.record_type], **facts) for f in files]
            for key, files in placed.items()
        }

    def finish(self, publication: Publication) -> None:
        """Rename the commit's database into place; remove others that were never committed."""
        following = self._next(publication.token)
        if following.exists():
            following.replace(self.path)
            fsync_directory(self.root)
        for left in sorted(self.state.glob("next-*")):
            self._remove(left)

    def _next(self, token: str) -> Path:
        return self.state / f"next-{token}"

    def _remove(self, path: Path) -> None:
        if path.is_dir():  # where DuckDB puts what does not fit into memory
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """The rows of one record type, read when they are asked for."""
        mine = [file for file in files if file.record_type == record_type.name]
        pieces: list[Piece] = []
        for file in mine:
            _append(pieces, Piece(self.path, file.rows, file.first_row))

        def rows() -> pl.DataFrame:
            table = read(self._holding(mine[0]), record_type.name, pieces)
            known = [name for name in table.column_names if name in record_type.arrow_schema.names]
            return frame_of(record_type, conform(record_type, table.select(known)))

        schema = polars_schema(record_type)
        return deferred(rows, schema) if mine else pl.LazyFrame(schema=schema)

    def _holding(self, file: PartFile) -> Path:
        """The database of a manifest; between a commit and its rename that is the next one."""
        waiting = sorted(self.state.glob("next-*"))
        for path in (self.path, *waiting):
            sized = path.is_file() and path.stat().st_size == file.size_bytes
            if sized and (not waiting or _is(path, file)):
                return path
        raise DatasetError(
            "no database holds what the manifest names",
            where=str(self.path),
            remedy="restore it from a backup, or harvest into a new one",
        )


class _PieceWriter(PartWriter):
    """Writes each record type's rows to a Parquet file."""

    def __init__(self, staging: Path):
        self._staging = staging
        self._files: dict[str, pq.ParquetWriter] = {}
        self._rows: dict[str, int] = {}

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        name = record_type.name
        if name not in self._files:
            # numbered, not named: a name may be longer than a file's
            path = self._staging / f"{len(self._files)}.parquet"
            self._files[name] = pq.ParquetWriter(path, table.schema, compression="zstd")
            self._rows[name] = 0
        self._files[name].write_table(table)
        self._rows[name] += table.num_rows

    def close(self) -> Sequence[tuple[str, str, int]]:
        for file in self._files.values():
            file.close()
        return [
            (f"{number}.parquet", name, rows)
            for number, (name, rows) in enumerate(self._rows.items())
        ]

    def abort(self) -> None:
        for file in self._files.values():
            file.close()


def _append(pieces: list[Piece], piece: Piece) -> None:
    """Append a piece, as part of the last one where it can be."""
    joined = pieces[-1].followed_by(piece) if pieces else None
    if joined is not None:
        pieces[-1] = joined
    else:
        pieces.append(piece)


def _is(path: Path, file: PartFile) -> bool:
    return path.is_file() and checksum(path) == file.sha256
