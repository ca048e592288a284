"""Conversion of lists to Parquet: a dataset, or sorted files in ``top=.../date=...``.

``top`` is the top-level directory, ``date`` the day of the scan. DuckDB sorts and writes the rows.
Rows that do not fit into its memory are spilled to files next to the target.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset

import harvest
from harvest import HarvestError, UsageError

from .aggregation.files import ParquetFile, find, scan
from .aggregation.groupings import GROUPINGS, Setting
from .aggregation.listing import Listing
from .aggregation.on_polars import PolarsRows
from .aggregation.scans import ALL, Scan

SHELF_ROWS: Final = 1_000_000
"""Default number of rows per file."""

BATCH_ROWS: Final = 131_072

MEMORY: Final = "2GB"
"""Memory limit of DuckDB; other rows are spilled to disk."""

THREADS: Final = 4
"""Maximum number of DuckDB threads: each has its own open files and share of the memory."""

_COPY: Final = """
COPY (FROM rows) TO '{target}' (
    FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, COMPRESSION_LEVEL 1,
    PARTITION_BY (top, date), ORDER_BY (path, inode, origin, position),
    ROW_GROUP_SIZE {rows}, ROW_GROUPS_PER_FILE 1, FILENAME_PATTERN 'part-{{i}}'
)
"""
# the columns after path make the order of rows unique, even if a list was read twice


def write_hive(
    source: str | Path,
    target: str | Path,
    *,
    root: str | None = None,
    top_depth: int = 1,
    shelf_rows: int = SHELF_ROWS,
) -> int:
    """Write the rows of ``gpfs.file`` in ``source`` below ``target``; return the number of rows.

    source: a dataset, a directory of Parquet files, a file or a pattern.
    target: a new or empty directory; its files appear only when all are complete.
    root: directory that contains the top-level directories; default: the deepest one of all paths.
    top_depth: depth of ``top`` below root.
    shelf_rows: rows per file, rounded up to a multiple of 2048, DuckDB's unit.

    Raises HarvestError if the target is not empty or cannot be written.
    """
    out = Path(target).expanduser().absolute()
    files = find(source)
    if out.is_dir() and any(out.iterdir()):
        said = "there is something in this directory already"
        raise HarvestError(said, where=str(out), remedy="choose another one, or remove it")
    work = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        shutil.rmtree(work, ignore_errors=True)
        (work / "out").mkdir(parents=True)
        listing = Listing(PolarsRows(scan(files)), Scan(ALL, None, None, 0), root)
        setting = listing.prepared(["top"], Setting(top_depth=top_depth))
        rows = _sort(_keyed(files, setting), work, shelf_rows)
        for file in list((work / "out").rglob("*.parquet")):
            # file names must sort in the order of rows: part-00010 comes after part-00009
            number = int(file.stem.removeprefix("part-"))
            file.rename(file.with_name(f"part-{number:05}.parquet"))
        if out.is_dir():
            out.rmdir()
        (work / "out").rename(out)
    except (OSError, duckdb.Error) as error:
        raise HarvestError(
            f"cannot be written: {getattr(error, 'strerror', None) or error}",
            where=str(getattr(error, "filename", None) or out),
            remedy="free space there, or choose another directory; this attempt left nothing",
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return rows


def _keyed(files: Sequence[ParquetFile], setting: Setting) -> pa.RecordBatchReader:
    """Read all rows in batches and add the columns ``top`` and ``date``."""
    top = GROUPINGS["top"]
    rows = pa.dataset.dataset([file.path for file in files], format="parquet")
    keys = pa.schema([("top", pa.string()), ("date", pa.date32())])

    def batches() -> Iterator[pa.RecordBatch]:
        # no readahead: it would hold a dozen batches of several files in memory
        for batch in rows.to_batches(
            batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1
        ):
            given = pl.DataFrame(batch.select(["path", "kind", "scan_time"]))
            keyed = given.select(
                top.key(setting).alias("top"), pl.col("scan_time").dt.date().alias("date")
            ).with_columns(top.label(setting).alias("top"))
            for added in keyed.to_arrow().cast(keys).columns:
                batch = batch.append_column("", added.combine_chunks())
            yield pa.record_batch(batch.columns, schema=schema)

    schema = pa.unify_schemas([rows.schema.remove_metadata(), keys])
    return pa.RecordBatchReader.from_batches(schema, batches())


def _sort(rows: pa.RecordBatchReader, work: Path, shelf_rows: int) -> int:
    settings = {
        "memory_limit": MEMORY,
        "temp_directory": str(work / "waiting"),
        "threads": min(THREADS, os.cpu_count() or 1),
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        connection.register("rows", rows)
        target = str(work / "out").replace("'", "''")
        written = connection.execute(_COPY.format(target=target, rows=shelf_rows)).fetchone()
    assert written is not None
    return int(written[0])


LAYOUTS: Final = ("flat", "hive")
"""``flat``: DIR/gpfs.file/*.parquet, a dataset. ``hive``: DIR/top=.../date=.../*.parquet."""


def convert(
    lists: str | Path | Sequence[str | Path],
    target: str | Path,
    *,
    layout: str = "flat",
    root: str | None = None,
    top_depth: int = 1,
    settings: Mapping[str, Any] | None = None,
    engine: str | None = None,
    engine_settings: Mapping[str, Any] | None = None,
    workers: int | None = None,
    max_rejects: int | None = None,
    observer: Any = None,
    dry_run: bool = False,
) -> Any:
    """Convert policy lists, or directories of them, to Parquet; return the result of the run.

    target: for ``flat`` a dataset, which a second call updates; for ``hive`` a new directory. Its
        rows are sorted by path, in directories by top-level directory and by the day of the scan
        (``acquisition date``).
    root: directory that contains the top-level directories; default: the deepest one of all paths.
        Only for ``hive``.
    top_depth: depth of ``top`` below root. Only for ``hive``.
    settings: settings of the source gpfs, such as ``{"show": "..."}``.
    engine, engine_settings, workers: as for ``harvest.run``.
    max_rejects: maximum number of rejects; with more, nothing is converted.
    observer: observer of the progress, as for ``harvest.run``.
    dry_run: plan the conversion, but do not run it.

        convert("scan.list", "out", workers=8)
        convert("scan.list", "sorted", layout="hive", top_depth=2)

    An interrupted conversion to ``hive`` can continue: ``.NAME.converting`` next to the target
    keeps the rows until it is complete.
    Raises UsageError for invalid arguments, HarvestError for errors during the conversion.
    """
    out, hive = Path(target).expanduser().absolute(), layout == "hive"
    if layout not in LAYOUTS:
        raise UsageError(f"no layout {layout!r}", remedy="choose one of " + ", ".join(LAYOUTS))
    if not hive and (root is not None or top_depth != 1):
        said = "root and top_depth are for the layout hive"
        raise UsageError(said, remedy="leave them out, or choose it")
    if hive and out.exists() and (not out.is_dir() or any(out.iterdir())):
        remedy = "choose another target, or remove it"
        raise HarvestError("the target exists", where=str(out), remedy=remedy)
    dataset = out.with_name(f".{out.name}.converting") if hive else out
    given = [lists] if isinstance(lists, (str, Path)) else lists
    asked = {"gpfs": dict(settings or {})}
    result = harvest.run(
        [f"gpfs:{os.fspath(item)}" for item in given],
        f"parquet:{dataset}",
        settings=asked | ({engine: dict(engine_settings)} if engine and engine_settings else {}),
        engine=engine,
        workers=workers,
        max_rejects=max_rejects,
        observer=observer,
        dry_run=dry_run,
        # drop rows that an interrupted attempt converted from other lists
        deleted="drop" if hive else None,
    )
    if hive and not dry_run:
        write_hive(dataset, out, root=root, top_depth=top_depth)
        shutil.rmtree(dataset)
    return result
