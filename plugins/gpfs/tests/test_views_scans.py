"""Views of one scan and of many: who uses what, where, how old, how large, how it grows."""

from datetime import timedelta

import polars as pl
import pytest
from scan_rows import NOW, dataset, harvested, row

from harvest import DatasetError, UsageError

LATER = NOW + timedelta(days=7)


def ago(days):
    return {"access_time": NOW - timedelta(days=days), "modify_time": NOW - timedelta(days=days)}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return dataset(
        tmp_path_factory.mktemp("scan"),
        [
            row("/fs", 1, 0, kind="directory", uid=0),
            row("/fs/a/x.nc", 2, 1000, nlink=2, **ago(3)),
            row("/fs/b/link.nc", 2, 1000, nlink=2, **ago(3)),
            row("/fs/a/y.h5", 3, 70_000, uid=1001, fileset="home", **ago(400)),
            row("/fs/b/z", 4, 1 << 30, uid=1001, pool="tape", heat=0.5, **ago(4000)),
        ],
    )


def test_usage_tells_the_largest_first_and_the_scan(scan):
    found = scan.rows("gpfs.usage", by="uid", metrics="inodes,size_bytes")
    assert found == [
        {"uid": 1001, "inodes": 2, "size_bytes": 70_000 + 2**30, "scan": "2026-01-11T00:00:00Z"},
        {"uid": 1000, "inodes": 1, "size_bytes": 1000, "scan": "2026-01-11T00:00:00Z"},
        {"uid": 0, "inodes": 1, "size_bytes": 0, "scan": "2026-01-11T00:00:00Z"},
    ]


def test_ages_have_a_row_for_each_class(scan):
    found = [r for r in scan.rows("gpfs.ages", ages="7d,1y") if r["time"] == "access"]
    assert [(r["age"], r["above_days"], r["up_to_days"], r["inodes"]) for r in found] == [
        ("in the future", None, 0, 0),
        ("up to 7 days", 0, 7, 1),
        ("7 days to 1 year", 7, 365, 0),
        ("above 1 year", 365, None, 2),
    ]
    assert {r["now"] for r in found} == {"2026-01-11T00:00:00Z"}


def test_ages_that_are_not_told_have_a_row_of_their_own(tmp_path):
    data = dataset(tmp_path, [row("/fs/x", 1, 1, access_time=None), row("/fs/y", 2, 1)])
    found = data.rows("gpfs.ages", ages="7d")
    assert [(r["time"], r["age"], r["inodes"]) for r in found if r["inodes"]] == [
        ("access", "up to 7 days", 1),
        ("access", None, 1),
        ("modify", "up to 7 days", 2),
    ]


def test_sizes_have_a_row_for_each_class(scan):
    found = scan.rows("gpfs.sizes", sizes="4K,1M")
    assert [(r["size"], r["inodes"], r["size_bytes"]) for r in found] == [
        ("empty", 0, 0),
        ("up to 4 KiB", 1, 1000),
        ("4 KiB to 1 MiB", 1, 70_000),
        ("above 1 MiB", 1, 2**30),
    ]


def test_cold_is_what_nobody_touched(tmp_path):
    day = timedelta(days=1)
    data = dataset(
        tmp_path,
        [
            row("/fs/a/cold", 1, 10, **ago(100)),
            row("/fs/a/read", 2, 20, access_time=NOW - day, modify_time=NOW - 100 * day),
            row("/fs/a/unknown", 3, 40, access_time=None, modify_time=None),
            row("/fs/a/half known", 4, 70, access_time=None, modify_time=NOW - 100 * day),
            row("/fs/b/warm", 5, 80, **ago(89)),
        ],
    )
    a, b = data.rows("gpfs.cold", age="90d")
    # of two it is not known: when they were accessed, or either time
    assert (a["top"], a["cold_inodes"], a["cold_size_bytes"]) == ("/fs/a", 1, 10)
    assert (a["size_bytes"], a["untimed"], a["cold_share"]) == (140, 2, 10 / 30)
    assert (b["top"], b["cold_inodes"], b["cold_share"]) == ("/fs/b", 0, 0.0)


def test_heat_by_pool(tmp_path):
    data = dataset(
        tmp_path,
        [
            row("/fs/a", 1, 10, heat=0.0),
            row("/fs/b", 2, 20, heat=0.1),
            row("/fs/c", 3, 40, heat=0.2),
            row("/fs/d", 4, 80, heat=None),
            row("/fs/e", 5, 80, pool="tape"),
        ],
    )
    data_pool, tape = data.rows("gpfs.heat")
    assert (data_pool["with_heat"], data_pool["warm"], data_pool["warm_bytes"]) == (3, 2, 60)
    assert (data_pool["mean_heat"], data_pool["hottest"]) == (0.1, 0.2)
    assert (tape["pool"], tape["warm_bytes"], tape["mean_heat"]) == ("tape", None, None)


def test_growth_compares_each_scan_with_the_one_before(tmp_path):
    week = timedelta(days=7)
    data = dataset(
        tmp_path,
        [row("/fs/a/x", 1, 10), row("/fs/b/y", 2, 20)],
        [row("/fs/a/x", 1, 15, scan_time=NOW + week), row("/fs/c/z", 3, 1, scan_time=NOW + week)],
        [row("/fs/a/x", 1, 15, scan_time=NOW + 2 * week)],
    )
    # when growth is asked for, then the newest scan comes first, and the first scan has no change
    total = data.rows("gpfs.growth")
    assert [(r["size_bytes"], r["size_change_bytes"], r["inodes_change"]) for r in total] == [
        (15, -1, -1), (16, -14, 0), (30, None, None),
    ]  # fmt: skip
    assert [r["since"] for r in total] == [
        "2026-01-18T00:00:00Z", "2026-01-11T00:00:00Z", "(first scan)",
    ]  # fmt: skip
    tops = data.rows("gpfs.growth", by="top")
    assert [(r["scan"][:10], r["top"], r["size_bytes"], r["size_change_bytes"]) for r in tops] == [
        ("2026-01-25", "/fs/a", 15, 0),
        ("2026-01-25", "/fs/c", 0, -1),
        ("2026-01-18", "/fs/a", 15, 5),
        ("2026-01-18", "/fs/b", 0, -20),
        ("2026-01-18", "/fs/c", 1, 1),
        ("2026-01-11", "/fs/a", 10, None),
        ("2026-01-11", "/fs/b", 20, None),
    ]


def test_growth_does_not_place_a_list_without_a_time(tmp_path):
    # given two scans with a time, and a list without one
    data = dataset(
        tmp_path,
        [row("/fs/a/x", 1, 10)],
        [row("/fs/a/x", 1, 15, scan_time=NOW + timedelta(days=7))],
        [row("/fs/a/x", 1, 99, scan_time=None, origin="/lists/b.list")],
    )
    # when growth is asked for, then changes are those between scans whose order is known
    found = [(r["since"], r["size_change_bytes"]) for r in data.rows("gpfs.growth")]
    assert found == [
        ("2026-01-11T00:00:00Z", 5), ("(first scan)", None), ("(time unknown)", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("view", "given", "error"),
    [
        ("gpfs.usage", {"by": "owner"}, "not 'owner'"),
        ("gpfs.usage", {"scan": "2027"}, "no scan is '2027'"),
        ("gpfs.growth", {"by": "top", "top_depth": "x"}, "does not fit"),
        ("gpfs.usage", {"top_depth": "0"}, "must be 1 to 4000000000, not 0"),
        ("gpfs.largest", {"n": 5 * 10**9}, "must be 1 to 4000000000, not 5000000000"),
        ("gpfs.ages", {"ages": "x"}, "is not an age"),
        ("gpfs.usage", {"by": "directory"}, "not 'directory'"),
        ("gpfs.small", {"below": "-1"}, "is not a size"),
    ],
)
def test_wrong_settings_are_told_before_anything_is_read(scan, view, given, error):
    with pytest.raises(UsageError, match=error):
        scan.view(view, **given)


@pytest.mark.parametrize(
    ("view", "by"),
    [("gpfs.cold", "cold"), ("gpfs.small", "top,small"), ("gpfs.policy", "modify_age")],
)
def test_what_a_view_divides_groups_by_is_refused_as_a_group(scan, view, by):
    with pytest.raises(UsageError, match="this view already divides groups by"):
        scan.view(view, by=by)


@pytest.fixture(scope="module")
def none(tmp_path_factory):
    """A dataset without rows of gpfs.file."""
    return harvested(tmp_path_factory.mktemp("none") / "none", [])


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    scans = [row("/d/a", 1)], [row("/d/a", 1, scan_time=LATER)]
    return harvested(tmp_path_factory.mktemp("some") / "some", *scans)


@pytest.mark.parametrize(
    "view", ["gpfs.usage", "gpfs.ages", "gpfs.largest", "gpfs.churn", "gpfs.candidates"]
)
def test_without_a_scan_the_columns_are_known_and_the_rows_refused(none, some, view):
    frame = none.view(view)
    assert frame.collect_schema() == some.view(view).collect_schema()
    # polars below 2 passes it on as an error of its own
    refused = (DatasetError, pl.exceptions.ComputeError)
    with pytest.raises(refused, match=r"no rows of gpfs\.file; harvest a policy list first"):
        frame.collect()
