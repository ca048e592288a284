"""Rows of gpfs.file for tests: written in a few words, made a dataset of by the real sink."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import polars as pl
import pyarrow as pa
from datasets import plugins_with

import harvest
from harvest_gpfs.records import GpfsFile
from harvest_parquet.sink import ParquetSink
from harvest_testing import SinkDriver

KIND = harvest.record_type(GpfsFile)
NOW = datetime(2026, 1, 11, tzinfo=UTC)


def row(path: str, inode: int, size: int | None = 0, **more: Any) -> dict[str, Any]:
    """A file that user 1000 made a day before the scan of 2026-01-11, unless said otherwise."""
    made = NOW - timedelta(days=1)
    return {
        "path": path,
        "inode": inode,
        "generation": 1,
        "snapshot_id": 0,
        "kind": "file",
        "size_bytes": size,
        "allocated_bytes": None if size is None else -(-size // 4096) * 4096,
        "access_time": made,
        "modify_time": made,
        "change_time": made,
        "create_time": made,
        "uid": 1000,
        "gid": 100,
        "pool": "data",
        "nlink": 1,
        "scan_time": NOW,
        "origin": "/lists/a.list",
        **more,
    }


def table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The rows as a table of exactly the record type."""
    columns = KIND.arrow_schema.names
    listed = [{"position": n, **row} for n, row in enumerate(rows, 1)]
    unknown = {name for row in listed for name in row} - set(columns)
    assert not unknown, f"no columns of gpfs.file: {unknown}"
    plain = pa.schema(
        pa.field(f.name, pa.string()) if pa.types.is_dictionary(f.type) else f
        for f in KIND.arrow_schema
    )
    full = [{name: row.get(name) for name in columns} for row in listed]
    return harvest.conform(KIND, pa.Table.from_pylist(full, schema=plain))


@attrs.frozen(eq=False)
class Dataset:
    """A dataset of the sink parquet, as views and reports see one."""

    driver: SinkDriver
    notes: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        return name == KIND.name

    def __getitem__(self, name: str) -> pl.LazyFrame:
        assert name == KIND.name
        return self.driver.scan(KIND)

    def view(self, name: str, **settings: Any) -> pl.LazyFrame:
        from harvest.plugins.building import call
        from harvest_gpfs.plugin import VIEWS

        (view,) = (view for view in VIEWS if view.name == name)
        return call("view", view, view.build, (self,), settings)  # type: ignore[no-any-return]

    def rows(self, name: str, **settings: Any) -> list[dict[str, Any]]:
        """The rows of a view."""
        frame = self.view(name, **settings)
        found = frame.collect()
        assert found.schema == frame.collect_schema(), "a view has the columns it declares"
        return found.to_dicts()


def dataset(folder: Path, *parts: Sequence[Mapping[str, Any]]) -> Dataset:
    """A dataset with a file for each part, as a run writes it."""
    driver = SinkDriver(ParquetSink(str(folder)))
    driver.commit({f"part{n}": [(KIND, table(rows))] for n, rows in enumerate(parts)})
    return Dataset(driver)


class RowsSource(harvest.Source):
    """Rows of gpfs.file that lie ready in an Arrow file."""

    name = "rows"
    record_types = (GpfsFile,)

    def read(self, partition: harvest.Partition, ctx: harvest.ReadContext) -> Iterable[Any]:
        found = pa.ipc.open_file(partition.path).read_all()
        ctx.read(found.num_rows)
        yield GpfsFile, found


def harvested(folder: Path, *parts: Sequence[Mapping[str, Any]]) -> harvest.Dataset:
    """A dataset with a manifest: the rows went through a whole run."""
    folder.mkdir(exist_ok=True)
    plugins = plugins_with(parquet="harvest_parquet.plugin", rows="scan_rows:RowsSource")
    sources = []
    for n, rows in enumerate(parts):
        path = folder / f"part{n}.arrow"
        found = table(rows)
        with pa.ipc.new_file(path, found.schema) as writer:
            writer.write_table(found)
        sources.append(f"rows:{path}")
    result = harvest.run(sources, f"parquet:{folder / 'out'}", plugins=plugins)
    assert result.account.written == sum(map(len, parts))
    return harvest.open(folder / "out")


def files(folder: Path) -> list[Path]:
    """The Parquet files of a dataset."""
    return sorted((folder / KIND.name).glob("*.parquet"))


def objects(rows):
    """(inode, generation, create_time) -> the rows of its paths, the first one first."""
    found = defaultdict(list)
    for r in sorted(rows, key=lambda r: r["path"]):
        if r["kind"] != "directory":
            found[r["inode"], r["generation"], r["create_time"]].append(r)
    return found


def sizes_of(was, now):
    """Old and new size of an object, 0 where it is not there; None where a scan lacks one.

    was, now: its rows in two scans.
    """
    sizes = [r[0]["size"] if r else 0 for r in (was, now)]
    return None if None in sizes else sizes


def in_doubt(r):
    """Whether a row lacks what shows that an object changed."""
    return None in (r["size"], r["modify_time"], r["access_time"])


def is_or_unknown(found, wanted, doubtful):
    """Whether a sum is the counted one, or null in place of 0 where something is not known."""
    return found == wanted or (found is None and not wanted and doubtful)
