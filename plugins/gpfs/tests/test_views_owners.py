"""What owners have, and what policies would free: examples, and a count object by object."""

import tempfile
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_rows import NOW, dataset, row

from harvest import UsageError

DAY = timedelta(days=1)


def ago(access, modify=None):
    """Times so many days before the scan."""
    modify = access if modify is None else modify
    return {"access_time": NOW - access * DAY, "modify_time": NOW - modify * DAY}


@pytest.fixture
def scan(tmp_path):
    return dataset(
        tmp_path,
        [
            row("/fs", 1, 4096, kind="directory", uid=0, **ago(1000)),
            row("/fs/a/cold", 2, 300_000, uid=1, nlink=2, **ago(400)),
            row("/fs/a/read", 3, 100_000, uid=1, **ago(1, 400)),
            row("/fs/b/link", 2, 300_000, uid=1, nlink=2, **ago(400)),
            row("/fs/b/tiny", 4, 10, uid=2, **ago(-2)),
            row("/fs/b/clock", 5, 65_535, uid=2, **ago(-1)),
            row("/fs/b/unknown", 6, None, uid=None, access_time=None, modify_time=None),
        ],
    )


def test_directories_of_any_depth_are_counted_in_no_more_passes_than_there_are_levels(scan):
    every = scan.rows("gpfs.directories", depth=9)

    assert {r["directory"] for r in every} == {"/fs", "/fs/a", "/fs/b"}
    assert scan.rows("gpfs.directories", depth=10**9) == every


def test_what_is_cold_small_and_of_the_future_by_owner(scan, tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("root:x:0:\nada:x:1:\n")

    found = {r["uid"]: r for r in scan.rows("gpfs.owners", passwd=str(passwd))}

    # the hard link of what is cold counts once; what was read is not cold
    ada = found[1]
    assert (ada["user"], ada["unknown"], ada["inodes"], ada["size_bytes"]) == (
        "ada", False, 2, 400_000,
    )  # fmt: skip
    assert (ada["cold_inodes"], ada["cold_size_bytes"], ada["cold_share"]) == (1, 300_000, 0.75)
    # directories have an owner, and are neither cold nor small
    assert (found[0]["size_bytes"], found[0]["data_inodes"], found[0]["cold_inodes"]) == (
        4096,
        0,
        0,
    )
    # two days after the scan is the future, one day is not
    other = found[2]
    assert (other["user"], other["unknown"], other["future_inodes"]) == ("2", True, 1)
    assert (other["small_inodes"], other["small_size_bytes"]) == (2, 65_545)
    # an owner that the list does not say is not one that passwd lacks
    assert (found[None]["user"], found[None]["unknown"], found[None]["size_bytes"]) == (
        None, None, None,
    )  # fmt: skip
    # nor is anything known of how old or small what it has is
    assert (found[None]["cold_inodes"], found[None]["small_share"]) == (None, None)
    assert (found[None]["cold_known_inodes"], found[None]["small_known_inodes"]) == (None, None)
    assert {r["all_bytes"] for r in found.values()} == {4096 + 400_000 + 65_545}
    assert {r["all_data_bytes"] for r in found.values()} == {400_000 + 65_545}


def test_without_the_time_of_the_scan_nothing_is_cold_or_warm(tmp_path):
    data = dataset(tmp_path, [row("/fs/a", 1, 5, scan_time=None)])

    (found,) = data.rows("gpfs.owners")
    assert (found["small_inodes"], found["cold_inodes"], found["future_inodes"]) == (1, None, None)
    (dated,) = data.rows("gpfs.owners", now="2028-01-01")
    assert (dated["cold_inodes"], dated["future_inodes"]) == (1, 0)


def test_an_object_of_two_lists_adds_no_zero_to_what_no_list_records(tmp_path):
    # two lists of one scan; the file was read between them
    file = row("/fs/a", 1, 5, allocated_bytes=None)
    data = dataset(tmp_path, [file | ago(400), file | ago(1, 400) | {"origin": "/lists/b.list"}])

    (owner,) = data.rows("gpfs.owners")
    policies = data.rows("gpfs.policy")

    assert (owner["inodes"], owner["size_bytes"]) == (1, 5)
    assert {row["allocated_bytes"] for row in (owner, *policies)} == {None}


def test_a_policy_frees_what_is_older_by_access_by_modification_or_both(tmp_path):
    data = dataset(
        tmp_path,
        [
            row("/fs/a/read", 1, 10, **ago(5, 100)),
            row("/fs/a/old", 2, 20, **ago(100)),
            row("/fs/a/at the limit", 3, 40, **ago(30)),
            row("/fs/a/unread", 4, 80, access_time=None, modify_time=NOW - 100 * DAY),
            row("/fs/a", 5, 1 << 20, kind="directory", **ago(1000)),
        ],
    )

    found = data.rows("gpfs.policy", policy="30,99")

    assert [
        (r["days"], r["time"], r["freed_inodes"], r["freed_size_bytes"], r["untimed"])
        for r in found
    ] == [
        (30, "access", 1, 20, 1), (30, "modify", 3, 110, 0), (30, "both", 1, 20, 1),
        (99, "access", 1, 20, 1), (99, "modify", 3, 110, 0), (99, "both", 1, 20, 1),
    ]  # fmt: skip
    # of what is known: three of the four by access
    assert found[0]["freed_share"] == pytest.approx(20 / 70)
    assert (found[0]["known_inodes"], found[0]["known_size_bytes"]) == (3, 70)
    assert found[1]["freed_share"] == pytest.approx(110 / 150)
    assert {(r["inodes"], r["size_bytes"]) for r in found} == {(4, 150)}


@pytest.mark.parametrize("days", ["365,90", "soon"])
def test_days_that_are_none_are_refused(scan, days):
    with pytest.raises(UsageError, match="not"):
        scan.view("gpfs.policy", policy=days)


AGES = st.sampled_from([-3, 0, 1, 29, 30, 31, 200, None])
FILES = st.lists(
    st.tuples(
        st.integers(1, 6), st.integers(1, 3), st.sampled_from([0, 7, 1 << 40, None]), AGES, AGES
    ),
    min_size=1,
    max_size=10,
)


def before_scan(days):
    return None if days is None else NOW - days * DAY


@pytest.mark.slow
@given(files=FILES)
def test_policies_free_what_is_counted_one_by_one(files):
    """Paths of an inode repeat its values, as lists do."""
    first = {inode: values for inode, *values in reversed(files)}
    rows = [
        row(f"/fs/{n:02}", inode, first[inode][1], uid=first[inode][0], nlink=len(files),
            access_time=before_scan(first[inode][2]), modify_time=before_scan(first[inode][3]))
        for n, (inode, *_) in enumerate(files)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = dataset(Path(folder), rows).rows("gpfs.policy", policy="30,199", by="uid")
    for one, next_one in pairwise(found):
        if (one["days"], one["time"]) == (next_one["days"], next_one["time"]):
            freed = [r["freed_size_bytes"] for r in (one, next_one)]
            assert None in freed[1:] or (freed[0] is not None and freed[0] >= freed[1])

    wanted = {}
    for uid, size, access, modify in first.values():
        for days in (30, 199):
            ages = {"access": [access], "modify": [modify], "both": [access, modify]}
            for time, known in ages.items():
                sums = wanted.setdefault((uid, days, time), [0, 0, 0])
                recent = any(age is not None and age <= days for age in known)
                old = not recent and None not in known
                sums[0] += old
                sums[1] += (size or 0) * old
                sums[2] += not recent and not old
    for sums in wanted.values():
        if sums[2] and not sums[0]:
            sums[0] = None  # that none is freed is not known
    assert {
        (r["uid"], r["days"], r["time"]): [
            r["freed_inodes"], r["freed_size_bytes"] or 0, r["untimed"],
        ]
        for r in found
    } == wanted  # fmt: skip
