"""One call from files to a result: inputs, groups, scans, names, and the files it writes."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pyarrow.parquet as pq
import pytest
from scan_rows import NOW, dataset, files, harvested, row, table

from harvest import DatasetError, HarvestError, UsageError
from harvest_gpfs import aggregate, write_result
from harvest_gpfs.aggregation import GROUPINGS, METRICS, listing
from harvest_gpfs.aggregation.scans import moment


def sizes(frame, by):
    return dict(frame.select(by, "size_bytes").iter_rows())


@pytest.fixture
def scan(tmp_path):
    rows = [
        row("/gpfs/user/ann/x.nc", 1, 10),
        row("/gpfs/user/bob/deep/er/y.NC", 2, 20, uid=1001),
        row("/gpfs/project", 3, 0, kind="directory"),
        row("/gpfs/project/z", 4, 40, uid=1001, gid=200),
        row("/gpfs/top.txt", 5, 80, uid=None),
    ]
    dataset(tmp_path / "out", rows)
    return tmp_path / "out"


def test_what_it_was_made_of_is_told(scan):
    result = aggregate(files(scan), by="top,modify_age")
    assert result.facts == {
        "backend": "memory",
        "because": result.choice.reason,
        "scan": "2026-01-11T00:00:00Z",
        "root": "/gpfs/",
        "now": "2026-01-11T00:00:00Z",
    }


def test_a_root_can_be_given_and_what_is_outside_has_no_directory(scan):
    found = sizes(aggregate(files(scan), by="top", root="/gpfs/user").frame, "top")
    assert found == {"/gpfs/user/ann": 10, "/gpfs/user/bob": 20, None: 120}


@pytest.mark.parametrize(
    ("paths", "root"),
    [
        (["/a/b/c", "/a/b/d"], "/a/b/"),
        (["/a/b", "/a/b/d", "/a/b/e/f"], "/a/b/"),
        (["/a/b", "/a/bc"], "/a/"),
        (["/a/b", "/a/b-x", "/a/b/y"], "/a/"),
        (["/a/b/c"], "/a/b/"),
        (["/é/a", "/è/a"], "/"),
    ],
)
def test_the_root_is_the_longest_common_directory(tmp_path, paths, root):
    dataset(tmp_path, [row(path, n) for n, path in enumerate(paths)])
    assert aggregate(files(tmp_path), by="top").root == root


def test_names_come_from_files_and_numbers_with_one_name_are_one_user(scan, tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("ann:x:1000:100::/home/ann:/bin/sh\n# more\nann:x:1001:1::/:/bin/sh\n")
    frame = aggregate(files(scan), by="user", passwd=passwd).frame
    assert sizes(frame, "user") == {"ann": 70, None: 80}
    assert sizes(aggregate(files(scan), by="user").frame, "user") == {
        "1000": 10, "1001": 60, None: 80,
    }  # fmt: skip


@pytest.mark.parametrize("line", ["ann", "ann:x:one", ":x:5", "ann:x:", f"ann:x:{2**64}"])
def test_a_damaged_passwd_file_is_told_with_its_line(scan, tmp_path, line):
    passwd = tmp_path / "passwd"
    passwd.write_text(f"ok:x:1:\n{line}\n")
    with pytest.raises(UsageError, match="passwd, line 2: "):
        aggregate(files(scan), by="user", passwd=passwd)


def test_sums_come_from_one_scan_unless_all_is_said(tmp_path):
    later = {"scan_time": NOW + timedelta(days=7)}
    dataset(tmp_path, [row("/d/x", 1, 1), row("/d/y", 2, 2)], [row("/d/x", 1, 100, **later)])
    assert aggregate(files(tmp_path), by=()).frame["size_bytes"].item() == 100
    assert aggregate(files(tmp_path), by=(), scan="2026-01-11").frame["size_bytes"].item() == 3
    assert aggregate(files(tmp_path), by=(), scan="all").frame["size_bytes"].item() == 103
    with pytest.raises(UsageError, match="2 scans are '2026'"):
        aggregate(files(tmp_path), by=(), scan="2026")
    with pytest.raises(UsageError, match="no scan is '2025'"):
        aggregate(files(tmp_path), by=(), scan="2025")


def test_lists_that_tell_no_time_are_not_mixed_by_guess(tmp_path):
    untimed = {"scan_time": None}
    dataset(
        tmp_path,
        [row("/d/x", 1, 1, origin="/lists/a.list", **untimed)],
        [row("/d/y", 2, 2, origin="/lists/b.list", **untimed)],
    )
    with pytest.raises(UsageError, match="scan=all takes them for parts of one scan"):
        aggregate(files(tmp_path), by=())
    assert aggregate(files(tmp_path), by=(), scan="all").frame["size_bytes"].item() == 3
    assert aggregate(files(tmp_path), by=(), scan="b.list").frame["size_bytes"].item() == 2


def test_ages_are_never_counted_from_the_clock(tmp_path):
    dataset(tmp_path, [row("/d/x", 1, 1, scan_time=None)])
    with pytest.raises(UsageError, match="give it: now=2026-01-11"):
        aggregate(files(tmp_path), by="access_age")
    result = aggregate(files(tmp_path), by="access_age", now="2026-03-01")
    assert result.frame["access_age"].to_list() == ["30 days to 90 days"]
    assert result.now == "2026-03-01T00:00:00Z"


def test_sums_that_no_int64_holds_are_null_and_a_fact_says_so(tmp_path):
    dataset(tmp_path, [row("/d/x", 1, 2**63 - 1, allocated_bytes=1), row("/d/y", 2, 1)])
    found = aggregate(files(tmp_path), by="uid", metrics="size_bytes,allocated_bytes")
    assert found.frame.rows() == [(1000, None, 4097)]
    assert found.facts["null, since more than 2^63 - 1"] == "size_bytes"


# -- inputs --------------------------------------------------------------------------------------


def test_inputs_are_files_patterns_directories_and_datasets(scan, tmp_path):
    flat = tmp_path / "flat"
    flat.mkdir()
    pq.write_table(pq.read_table(files(scan)[0]), flat / "p.parquet")
    for inputs in (files(scan), str(scan / "*/*.parquet"), flat, [flat / "p.parquet", flat]):
        assert aggregate(inputs, by=()).frame["size_bytes"].item() == 150


def test_a_dataset_is_what_its_manifest_says(tmp_path):
    out = harvested(tmp_path, [row("/d/x", 1, 1)], [row("/d/y", 2, 2)])
    assert aggregate(out.sink.root, by=()).frame["size_bytes"].item() == 3
    # a file that a killed run left behind is no part of it
    pq.write_table(table([row("/d/z", 3, 4)]), files(out.sink.root)[0].with_name("left.parquet"))
    assert aggregate(out.sink.root, by=()).frame["size_bytes"].item() == 3


def test_columns_told_by_directories(tmp_path):
    """A layout as partitioning writers leave it: uid=1000/part.parquet without the column."""
    for uid in ("1000", "1001", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / f"uid={uid}" / "pool=fast%20ssd" / "day=1"
        folder.mkdir(parents=True)
        rows = table([row(f"/d/{uid}", 1, 1)])
        pq.write_table(rows.drop_columns(["uid", "pool", "extra"]), folder / "part.parquet")
    frame = aggregate(tmp_path, by="uid,pool", metrics="size_bytes").frame
    assert frame.rows() == [
        (1000, "fast ssd", 1), (1001, "fast ssd", 1), (None, "fast ssd", 1),
    ]  # fmt: skip
    (tmp_path / "uid=1000").rename(tmp_path / "uid=ann")
    with pytest.raises(DatasetError, match="uid=ann in the path does not fit Int64"):
        aggregate(tmp_path, by="uid")


def test_columns_that_a_file_lacks_are_unknown(tmp_path):
    slim = table([row("/d/x", 1, 1)]).select(["inode", "path"])
    pq.write_table(slim, tmp_path / "slim.parquet")
    (found,) = aggregate(tmp_path, by="uid", scan="all").frame.to_dicts()
    assert (found["uid"], found["inodes"], found["size_bytes"]) == (None, 1, None)


def test_wrong_inputs_are_told(tmp_path):
    (tmp_path / "text.parquet").write_text("hello")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    (tmp_path / "empty").mkdir()
    for inputs, error in [
        (tmp_path / "nothing", "no such file or directory"),
        (tmp_path / "empty", "no \\*.parquet below this directory"),
        (tmp_path / "text.parquet", "this is not a Parquet file"),
        (tmp_path / "other.parquet", "lacks inode and path"),
        ([], "no input"),
    ]:
        with pytest.raises(HarvestError, match=error):
            aggregate(inputs)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"by": "colour"}, "no grouping 'colour'; use uid, gid"),
        ({"metrics": "bytes"}, "no metric 'bytes'; use paths, inodes"),
        ({"sizes": "1M,4K"}, "are not classes of size"),
        ({"ages": "soon"}, "'soon' is not an age"),
        ({"cold": "later"}, "is not an age"),
        ({"small": "tiny"}, "is not a size"),
        ({"now": "today"}, "'today' is not a time"),
        ({"now": "0001-01-01"}, "'0001-01-01' is not a time in the years 1000"),
        ({"top_depth": 0}, "top_depth is 0"),
        ({"passwd": "/nowhere/passwd"}, "the passwd file cannot be read"),
    ],
)
def test_wrong_settings_are_told(scan, settings, error):
    with pytest.raises(UsageError, match=error):
        aggregate(files(scan), **settings)


# -- results -------------------------------------------------------------------------------------


def test_a_result_as_csv_jsonl_and_parquet(scan, tmp_path):
    result = aggregate(files(scan), by="uid", metrics="inodes,newest_modify_time")
    day = (NOW - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    assert write_result(result, tmp_path / "r.csv").read_text().splitlines() == [
        "uid,inodes,newest_modify_time", f"1000,2,{day}", f"1001,2,{day}", f",1,{day}",
    ]  # fmt: skip
    lines = write_result(result, tmp_path / "r.jsonl").read_text().splitlines()
    assert json.loads(lines[2]) == {"uid": None, "inodes": 1, "newest_modify_time": day}
    assert pl.read_parquet(write_result(result, tmp_path / "r.parquet")).equals(result.frame)
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == [
        "r.csv", "r.jsonl", "r.parquet",
    ]  # fmt: skip


def test_names_that_a_spreadsheet_would_run_are_defused(tmp_path):
    frame = pl.DataFrame({"user": ["=cmd|' /C calc'!A0", "ann"], "inodes": [1, 2]})
    text = write_result(frame, tmp_path / "r.csv").read_text()
    assert text.splitlines()[1].startswith("'=cmd")


@pytest.mark.parametrize("name", ["r.xlsx", "missing/r.csv"])
def test_a_target_that_cannot_be_is_told(tmp_path, name):
    with pytest.raises(UsageError):
        write_result(pl.DataFrame({"a": [1]}), tmp_path / name)


def test_every_grouping_and_metric_is_described_and_listed():
    from harvest_gpfs import measures
    from harvest_gpfs.plugin import VIEWS

    usage = next(view for view in VIEWS if view.name == "gpfs.usage")
    for metric in METRICS.values():
        assert measures.METRICS[metric.name]
        assert metric.name in usage.settings["metrics"].allowed
    for grouping in GROUPINGS.values():
        assert measures.GROUPINGS[grouping.name]
        assert grouping.name in usage.settings["by"].allowed or grouping.name == "directory"
    assert not set(GROUPINGS) & {part.name for m in METRICS.values() for part in m.parts}


def test_examples_of_the_docstrings():
    import doctest

    from harvest_gpfs.aggregation import groupings, on_polars

    for module in (groupings, on_polars):
        found = doctest.testmod(module)
        assert found.attempted
        assert not found.failed


def test_a_zone_is_understood():
    assert moment("2026-01-11T02:00:00+02:00") == datetime(2026, 1, 11, tzinfo=UTC)


@pytest.mark.slow
def test_every_file_may_have_links_and_counts_once(tmp_path, monkeypatch):
    """A tree of hard links, as backups make them, in many passes that share nothing."""
    monkeypatch.setattr(listing, "LEAST_INODES", 8)
    monkeypatch.setattr(listing, "LEAST_LINKED_ROWS", 8)
    parts = [
        [row(f"/backup/day{day}/f{n}", 1000 + 2 * n, n, nlink=7) for n in range(200)]
        for day in range(7)
    ]
    dataset(tmp_path, *parts)
    found = aggregate(files(tmp_path), by="top", backend="streaming").frame.rows_by_key(
        "top", named=True, unique=True
    )
    assert found["/backup/day0"]["inodes"] == 200
    assert found["/backup/day0"]["size_bytes"] == sum(range(200))
    for day in range(1, 7):
        sums = found[f"/backup/day{day}"]
        assert (sums["inodes"], sums["size_bytes"], sums["hard_links"]) == (0, 0, 200)
