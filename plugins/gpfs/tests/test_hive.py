"""Sorted files in hive directories: all rows, in order, wherever they belong."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_rows import harvested, row

from harvest import HarvestError
from harvest_gpfs import aggregate, write_hive

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def written(out: Path) -> dict[str, list[str]]:
    """Paths by directory, in the order of the files."""
    found: dict[str, list[str]] = {}
    for file in sorted(out.rglob("*.parquet")):
        paths = pq.read_table(file, partitioning=None)["path"].to_pylist()
        found.setdefault(str(file.parent.relative_to(out)), []).extend(paths)
    return found


def test_rows_lie_by_top_level_directory_and_day_sorted_by_path(tmp_path: Path) -> None:
    rows = [
        row("/data/b/z", 1),
        row("/data/a/y", 2, scan_time=MARCH),
        row("/data/a/x", 3),
        row("/data/a/B", 4),
        row("/data/c%/odd name", 5, scan_time=None),
    ]
    harvested(tmp_path / "in", rows)
    assert write_hive(tmp_path / "in", tmp_path / "out") == 5
    assert written(tmp_path / "out") == {
        "top=%2Fdata%2Fa/date=2026-01-11": ["/data/a/B", "/data/a/x"],
        "top=%2Fdata%2Fa/date=2026-03-01": ["/data/a/y"],
        "top=%2Fdata%2Fb/date=2026-01-11": ["/data/b/z"],
        "top=%2Fdata%2Fc%25/date=__HIVE_DEFAULT_PARTITION__": ["/data/c%/odd name"],
    }


def test_other_readers_find_the_directories_columns(tmp_path: Path) -> None:
    harvested(tmp_path / "in", [row("/data/a b/x", 1), row("/data/c/y", 2)])
    write_hive(tmp_path / "in", tmp_path / "out")
    found = pl.scan_parquet(tmp_path / "out/**/*.parquet", hive_partitioning=True).collect()
    assert found.sort("path")["top"].to_list() == ["/data/a b", "/data/c"]
    duckdb = pytest.importorskip("duckdb")
    query = "SELECT top, date, path FROM read_parquet(?, hive_partitioning=true) ORDER BY path"
    found_rows = duckdb.execute(query, [f"{tmp_path}/out/**/*.parquet"]).fetchall()
    assert [(unquote(top), path) for top, _, path in found_rows] == [
        ("/data/a b", "/data/a b/x"),
        ("/data/c", "/data/c/y"),
    ]


@pytest.mark.slow
@given(
    names=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c/d", "é"]), st.text("xyzé%/", min_size=1, max_size=6)
        ),
        max_size=60,
    ),
    top_depth=st.integers(1, 2),
)
def test_all_rows_are_there_in_order_whatever_their_names(
    tmp_path_factory: Any, names: list[tuple[str, str]], top_depth: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    rows = [row(f"/data/{top}/{name}", n) for n, (top, name) in enumerate(names, 1)]
    harvested(folder / "in", rows[::2], rows[1::2])
    if not rows:
        return
    kwargs: dict[str, Any] = {"root": "/data", "top_depth": top_depth}
    assert write_hive(folder / "in", folder / "out", **kwargs) == len(rows)
    found = written(folder / "out")
    for paths in found.values():
        assert [p.encode() for p in paths] == sorted(p.encode() for p in paths)
    assert sorted(p for paths in found.values() for p in paths) == sorted(r["path"] for r in rows)


def test_a_large_group_is_cut_into_files_whose_names_have_the_order_of_its_rows(
    tmp_path: Path,
) -> None:
    # given a directory of 5,000 files in any order, of which 2048 fit into a Parquet file
    paths = [f"/data/a/{number * 7919 % 5_000:05}" for number in range(5_000)]
    harvested(tmp_path / "in", [row(path, n) for n, path in enumerate(paths, 1)])
    write_hive(tmp_path / "in", tmp_path / "out", root="/data", shelf_rows=1500)
    # then there are two full ones and the rest, and one after the other they are sorted
    files = sorted((tmp_path / "out").rglob("*.parquet"))
    assert [file.name for file in files] == [f"part-{number:05}.parquet" for number in range(3)]
    assert [pq.read_metadata(file).num_rows for file in files] == [2048] * 2 + [904]
    assert written(tmp_path / "out") == {"top=%2Fdata%2Fa/date=2026-01-11": sorted(paths)}


def test_no_rows_make_an_empty_directory(tmp_path: Path) -> None:
    pq.write_table(
        pq.read_table(_one_file(tmp_path / "in")).slice(0, 0), tmp_path / "empty.parquet"
    )
    assert write_hive(tmp_path / "empty.parquet", tmp_path / "out") == 0
    assert list((tmp_path / "out").iterdir()) == []


def test_columns_stay_as_they_are(tmp_path: Path) -> None:
    harvested(tmp_path / "in", [row("/data/a", 1), row("/data/b", 2)])
    write_hive(tmp_path / "in", tmp_path / "out", root="/data")
    files = (tmp_path / "out").rglob("*.parquet")
    found = pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])
    given = pq.read_table(_one_file(tmp_path / "in"), partitioning=None)
    assert found.sort_by("path").to_pylist() == given.sort_by("path").to_pylist()
    assert found.column_names == given.column_names


def _one_file(folder: Path) -> Path:
    if not folder.exists():
        harvested(folder, [row("/data/a", 1)])
    (file,) = (folder / "out" / "gpfs.file").rglob("*.parquet")
    return file


def test_what_is_summed_up_does_not_depend_on_the_layout(tmp_path: Path) -> None:
    rows = [row(f"/data/{n % 3}/{n}", n // 2, n * 10, nlink=2, uid=n % 4) for n in range(40)]
    harvested(tmp_path / "in", rows)
    write_hive(tmp_path / "in", tmp_path / "out", shelf_rows=7)
    for by in ("uid", "top", "uid,top"):
        assert aggregate(tmp_path / "out", by=by).frame.equals(
            aggregate(tmp_path / "in", by=by).frame
        )


def test_a_directory_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    harvested(tmp_path / "in", [row("/data/a", 1)])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(HarvestError, match="something in this directory"):
        write_hive(tmp_path / "in", tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["mine"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out"]
