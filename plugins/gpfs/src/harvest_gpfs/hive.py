"""Sorted Parquet files in directories ``top=.../date=...``, made of any number of rows.

``top`` is the top-level directory, ``date`` the day of the scan.  Rows are dealt out to shelves
first: ranges of (top, date, path) that each fit into memory, and whose bounds come from counts
and a sample.  Then each shelf is sorted and written.  So memory does not grow with the rows, and
they are read and written twice.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harvest import HarvestError

from .aggregation.files import ParquetFile, find, scan
from .aggregation.groupings import GROUPINGS, Setting
from .aggregation.listing import common_root
from .aggregation.on_polars import PolarsRows

__all__ = ["write_hive"]

SHELF_ROWS: Final = 1_000_000
"""Rows that are sorted at once, about."""

HELD_ROWS: Final = 1_000_000
"""Rows that wait to be dealt out, over all shelves."""

BATCH_ROWS: Final = 131_072
SAMPLE_ROWS: Final = 200_000
"""Paths looked at to find the bounds of shelves."""

NOWHERE: Final = "__HIVE_DEFAULT_PARTITION__"
"""The directory of rows without a value, as Hive, polars, DuckDB and pyarrow name it."""

_ADDED: Final = ["_top", "_date"]
"""Columns that rows on shelves have in addition: those of their group."""

_OPTIONS: Final[dict[str, Any]] = {
    "compression": "zstd",
    "compression_level": 1,
    "version": "2.6",
    "use_dictionary": ["kind", "pool", "fileset", "mode", "origin", "uid", "gid"],
    "column_encoding": {
        "inode": "DELTA_BINARY_PACKED",
        "access_time": "DELTA_BINARY_PACKED",
        "modify_time": "DELTA_BINARY_PACKED",
        "change_time": "DELTA_BINARY_PACKED",
        "create_time": "DELTA_BINARY_PACKED",
        "position": "DELTA_BINARY_PACKED",
        "path": "DELTA_BYTE_ARRAY",  # sorted, so most of each path repeats the one before
    },
}


def write_hive(
    source: str | Path,
    target: str | Path,
    *,
    root: str | None = None,
    top_depth: int = 1,
    shelf_rows: int = SHELF_ROWS,
) -> int:
    """Write the rows of ``gpfs.file`` in ``source`` below ``target``; how many there were.

    source: a dataset, a directory of Parquet files, a file or a pattern.
    target: a directory that does not exist yet, or is empty; it appears when it is complete.
    root: where top-level directories begin; the longest directory that all paths lie in unless
        given.  top_depth: how many directories below it ``top`` has.
    shelf_rows: rows that are sorted at once, which memory must hold about twice.

    Raises HarvestError when the target has something in it, or cannot be written.
    """
    out = Path(target).expanduser().absolute()
    files = find(source)
    if out.is_dir() and any(out.iterdir()):
        raise HarvestError(
            "there is something in this directory already",
            where=str(out),
            remedy="choose another one, or remove it",
        )
    work = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        dealer = _Dealer(files, work / "shelves", root, top_depth, shelf_rows)
        rows = dealer.deal()
        (work / "out").mkdir()
        for shelf in dealer.shelves():
            _write(shelf, work / "out")
        if out.is_dir():
            out.rmdir()
        (work / "out").rename(out)
    except OSError as error:
        raise HarvestError(
            f"cannot be written: {error.strerror or error}",
            where=str(error.filename or out),
            remedy="make room there, or choose another directory; nothing is left of this attempt",
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return rows


@attrs.frozen
class _Shelf:
    """A range of rows: groups, or a range of one group's paths.

    pieces: the files that hold them, unsorted; number: of the output file within its group.
    """

    pieces: list[Path]
    number: int


class _Dealer:
    """Finds the shelves, and puts rows on them."""

    def __init__(
        self,
        files: Sequence[ParquetFile],
        folder: Path,
        root: str | None,
        top_depth: int,
        shelf_rows: int,
    ):
        self._files = files
        self._folder = folder
        self._pieces: Counter[int] = Counter()
        frame = scan(files)
        if root is None:
            setting = Setting(root=common_root(PolarsRows(frame)), covered=True)
        else:
            setting = Setting(root=root.rstrip("/") + "/" if root else "")
        setting = attrs.evolve(setting, top_depth=top_depth)
        top = GROUPINGS["top"]
        self._keys = [
            top.key(setting).alias("top"),
            pl.col("scan_time").dt.date().alias("date"),
        ]
        self._label = top.label(setting).alias("top")
        self._groups = (
            frame.select(*self._keys)
            .group_by("top", "date")
            .agg(rows=pl.len())
            .collect(engine="streaming")
            .sort("top", "date", nulls_last=True)
        )
        self._plan(frame, shelf_rows)

    def _plan(self, frame: pl.LazyFrame, shelf_rows: int) -> None:
        """The first shelf of each group, and the paths at which large groups go on to another."""
        total = int(self._groups["rows"].sum())
        step = max(1, total // SAMPLE_ROWS)
        large = self._groups.filter(pl.col("rows") > shelf_rows)
        sampled: dict[tuple[Any, ...], list[str]] = {}
        if len(large):
            sample = (
                frame.select(*self._keys, "path")
                .with_row_index("row")
                .filter(pl.col("row") % step == 0)
                .join(large.lazy().select("top", "date"), on=["top", "date"], nulls_equal=True)
                .collect(engine="streaming")
            )
            for key, part in sample.group_by("top", "date"):
                sampled[key] = part["path"].sort().to_list()
        self._bounds: list[list[str]] = []
        self._first: list[int] = []
        shelf, filled = -1, shelf_rows
        self._numbers: list[int] = []
        for top, day, rows in self._groups.iter_rows():
            bounds = _bounds(sampled.get((top, day), []), -(-rows // shelf_rows))
            if bounds or filled + rows > shelf_rows:
                shelf, filled = shelf + 1, 0
                self._numbers.append(0)
            self._first.append(shelf)
            self._bounds.append(bounds)
            filled += rows
            for number in range(1, len(bounds) + 1):
                shelf += 1
                self._numbers.append(number)
            if bounds:
                filled = shelf_rows
        self._count = shelf + 1

    def deal(self) -> int:
        """Put all rows on their shelves; how many there were."""
        self._folder.mkdir()
        held: dict[int, list[pa.Table]] = {}
        waiting: Counter[int] = Counter()
        rows = 0
        for table in self._tables():
            rows += table.num_rows
            for shelf, part in self._dealt(table):
                held.setdefault(shelf, []).append(part)
                waiting[shelf] += part.num_rows
            while waiting.total() > HELD_ROWS:
                fullest = waiting.most_common(1)[0][0]
                self._put(fullest, held.pop(fullest))
                del waiting[fullest]
        for shelf in sorted(held):
            self._put(shelf, held[shelf])
        return rows

    def shelves(self) -> Iterator[_Shelf]:
        """The shelves in the order of their rows."""
        for shelf in range(self._count):
            pieces = [self._path(shelf, piece) for piece in range(self._pieces[shelf])]
            yield _Shelf(pieces, self._numbers[shelf])

    def _tables(self) -> Iterator[pa.Table]:
        for file in self._files:
            with pq.ParquetFile(file.path) as opened:
                for batch in opened.iter_batches(BATCH_ROWS):
                    yield pa.Table.from_batches([batch])

    def _dealt(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """The rows of a table by shelf, with their group's columns."""
        rows = pl.DataFrame(table.select(["path", "kind", "scan_time"]))
        numbered = self._groups.with_row_index("group").drop("rows")
        keyed = rows.with_columns(*self._keys).join(
            numbered, on=["top", "date"], how="left", nulls_equal=True, maintain_order="left"
        )
        shelves = keyed.select(
            pl.col("group").replace_strict(
                list(range(len(self._first))), self._first, return_dtype=pl.Int64
            )
        ).to_series()
        for group, bounds in enumerate(self._bounds):
            if bounds:
                mine = keyed.select(pl.col("group") == group).to_series()
                if mine.any():
                    further = pl.Series("b", bounds).search_sorted(keyed["path"], side="right")
                    shelves = (shelves + mine.cast(pl.Int64) * further.cast(pl.Int64)).alias("s")
        labels = keyed.select(self._label, pl.col("date")).to_arrow()
        for number, name in enumerate(_ADDED):
            table = table.append_column(name, labels.column(number))
        order = shelves.arg_sort().to_numpy()
        sorted_shelves = shelves.to_numpy()[order]
        table = table.take(pa.array(order))
        edges = [0, *((sorted_shelves[1:] != sorted_shelves[:-1]).nonzero()[0] + 1).tolist()]
        for start, stop in zip(edges, [*edges[1:], len(sorted_shelves)], strict=True):
            if stop > start:
                yield int(sorted_shelves[start]), table.slice(start, stop - start)

    def _put(self, shelf: int, tables: Sequence[pa.Table]) -> None:
        path = self._path(shelf, self._pieces[shelf])
        self._pieces[shelf] += 1
        table = pa.concat_tables(tables).unify_dictionaries()
        pq.write_table(table, path, compression="zstd", compression_level=1, use_dictionary=False)

    def _path(self, shelf: int, piece: int) -> Path:
        return self._folder / f"{shelf:06}-{piece:06}.parquet"


def _bounds(sample: Sequence[str], shelves: int) -> list[str]:
    """Paths at which a group is cut into so many shelves, as far as a sample tells them."""
    if not sample:
        return []
    return list(
        dict.fromkeys(sample[len(sample) * number // shelves] for number in range(1, shelves))
    )


def _write(shelf: _Shelf, out: Path) -> None:
    """Sort the rows of a shelf and write a file for each of its groups."""
    if not shelf.pieces:
        return
    table = pa.concat_tables([pq.read_table(piece) for piece in shelf.pieces])
    table = table.unify_dictionaries()
    for piece in shelf.pieces:
        piece.unlink()
    # what stands in one row of a list only; for lists read twice, where it stands
    keys = [*_ADDED, "path", "inode", "origin", "position"]
    plain = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for column in (table.column(key) for key in keys)
    ]
    order = pc.sort_indices(
        pa.table(plain, names=keys), sort_keys=[(key, "ascending") for key in keys]
    )
    table = table.take(order)
    groups = pl.DataFrame(table.select(_ADDED))
    runs = groups.select(pl.struct(_ADDED).rle_id()).to_series()
    table = table.drop_columns(_ADDED)
    start = 0
    for count in runs.value_counts().sort("_top")["count"].to_list():
        top, day = groups.row(start)
        folder = out / f"top={_directory(top)}" / f"date={_directory(day)}"
        folder.mkdir(parents=True, exist_ok=True)
        part = table.slice(start, count)
        pq.write_table(part, folder / f"part-{shelf.number:05}.parquet", **_fitting(part.schema))
        start += count


def _fitting(schema: pa.Schema) -> dict[str, Any]:
    """The writer's options for the columns that there are."""
    names = set(schema.names)
    return _OPTIONS | {
        "use_dictionary": [n for n in _OPTIONS["use_dictionary"] if n in names],
        "column_encoding": {k: v for k, v in _OPTIONS["column_encoding"].items() if k in names},
    }


def _directory(value: str | date | None) -> str:
    """A value as part of a directory's name."""
    return NOWHERE if value is None else quote(str(value), safe="")
