"""Deletion candidates, against a count over the raw lists in plain Python."""

import subprocess
import sys
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_lists import DAY, NOW, candidates, harvested, read, row

import harvest
from harvest_testing.datasets import AlteredDataset


@pytest.fixture(scope="module")
def one_file(tmp_path_factory) -> harvest.Dataset:
    return harvested(tmp_path_factory.mktemp("one") / "20260111.list", [row(b"/fs/a", 1)])


def with_rows(one_file: harvest.Dataset, rows) -> AlteredDataset:
    """The dataset with other rows: what a list of them would give."""
    kinds = {"F": "file", "L": "symlink", "D": "directory"}
    listed = [
        {
            "path": r["path"].decode(), "inode": r["inode"], "generation": r["generation"],
            "kind": kinds[r["kind"]], "size_bytes": r["size"], "allocated_bytes": r["kib"] * 1024,
            "access_time": r["access"], "modify_time": r["modify"], "uid": r["uid"],
            "nlink": r["nlink"], "snapshot_id": 0, "scan_time": NOW, "origin": "/a.list",
            "position": n,
        }
        for n, r in enumerate(rows, 1)
    ]  # fmt: skip

    def instead(frame: pl.LazyFrame) -> pl.LazyFrame:
        schema = frame.collect_schema()
        given = pl.LazyFrame(listed, {name: schema[name] for name in listed[0]})
        return pl.concat([frame.head(0), given], how="diagonal")

    return AlteredDataset(one_file, instead)


def paths(dataset: harvest.Dataset, **given) -> list[str]:
    return sorted(dataset.view("gpfs.candidates", **given).collect()["path"])


@pytest.mark.slow
@pytest.mark.parametrize(("style", "escape"), [("uab", "pct"), ("ncar", "none")])
def test_sums_by_owner_are_those_of_a_plain_count_over_the_raw_list(
    shared_data, tmp_path, style, escape
):
    """Given a list, in uab with two of a thousand files with two hard links each."""
    tool, raw = shared_data.parent / "tools" / "gen_gpfs.py", tmp_path / "20260111.list"
    lines = "8000" if style == "uab" else "2000"
    size = ["--lines", lines, "--uids", "12", "--seed", "5", "--style", style, "--escape", escape]
    subprocess.run([sys.executable, tool, *size, "-o", raw], check=True, capture_output=True)
    root = "/gpfs/csfs1/syn" if style == "ncar" else "/data"
    chosen = {"under": (f"{root}/user", f"{root}/scratch"), "exclude": ("*.h5", "scan*", "tmp?_*")}
    harvest.run(f"gpfs:{raw}", f"parquet:{tmp_path / 'out'}")
    dataset = harvest.open(tmp_path / "out")

    owners = dataset.view("gpfs.candidate_owners", age="200d", above="4K", **chosen).collect()

    objects = candidates(read(raw), age=200, above=4096, **chosen)
    inodes, sizes = Counter(), Counter()
    for one in objects:
        inodes[one[0]["uid"]] += 1
        sizes[one[0]["uid"]] += one[0]["size"]
    found = {uid: (n, size) for uid, n, size in owners.select("uid", "inodes", "size_bytes").rows()}
    assert {uid: pair for uid, pair in found.items() if pair != (0, 0)} == {
        uid: (inodes[uid], sizes[uid]) for uid in inodes
    }
    assert len(objects) > 100
    assert style == "ncar" or any(len(one) > 1 for one in objects)
    listed = dataset.view("gpfs.candidates", age="200d", above="4K", **chosen).collect()
    assert (listed.height, listed["size_bytes"].sum()) == (inodes.total(), sizes.total())


OBJECTS = st.lists(
    st.fixed_dictionaries(
        {
            "names": st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True),
            "days": st.sampled_from([-3, 10, 89, 90, 91, 400]),
            "modified": st.sampled_from([0, 200]),
            "size": st.sampled_from([0, 1, 4096, 10**7]),
            "uid": st.sampled_from([7, 8]),
            "kind": st.sampled_from("FFFLD"),
            "said": st.sampled_from([0, 0, 1, None]),
        }
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(OBJECTS)
def test_any_objects_are_chosen_as_a_loop_over_them_chooses(one_file, objects):
    """Given objects with several links, some of them not listed (``said``), in two places."""
    rows = [
        row(
            f"/fs/{name}/{n}".encode(), 100 + n, access=NOW - o["days"] * DAY,
            modify=NOW - (o["days"] + o["modified"]) * DAY, size=o["size"], uid=o["uid"],
            kind=o["kind"], nlink=None if o["said"] is None else len(o["names"]) + o["said"],
        )
        for n, o in enumerate(objects)
        for name in (o["names"] if o["kind"] == "F" else o["names"][:1])
    ]  # fmt: skip
    dataset = with_rows(one_file, rows)
    chosen = {"under": ("/fs/a", "/fs/b", "/fs/c"), "exclude": ("/fs/c",)}

    found = dataset.view("gpfs.candidates", age="90d", **chosen).collect()
    sums = dataset.view("gpfs.candidate_owners", age="90d", **chosen).collect()

    wanted = candidates(rows, age=90, **chosen)
    assert sorted(found.select("path", "paths").rows()) == sorted(
        (one[0]["path"].decode(), len(one)) for one in wanted
    )
    assert sums["inodes"].sum() == len(wanted)
    assert sums["size_bytes"].sum() == sum(one[0]["size"] for one in wanted)
    assert sums["linked_inodes"].sum() == sum(len(one) > 1 for one in wanted)


def test_what_is_not_known_is_no_candidate_and_is_counted(one_file):
    rows = [row(b"/fs/a", 1), row(b"/fs/b", 2, access=None), row(b"/fs/c", 3, access=NOW)]
    dataset = with_rows(one_file, rows)

    (sums,) = dataset.view("gpfs.candidate_owners", age="90d").collect().to_dicts()

    assert paths(dataset, age="90d") == ["/fs/a"]
    assert (sums["inodes"], sums["undecided_inodes"]) == (1, 1)
    assert paths(dataset, age="90d", time="modify") == ["/fs/a", "/fs/b", "/fs/c"]


def test_hard_links_go_together_or_not_at_all(one_file):
    rows = [
        row(b"/fs/old/a", 1, nlink=2), row(b"/fs/old/b", 1, nlink=2),
        row(b"/fs/old/c", 2, nlink=2), row(b"/fs/keep/c", 2, nlink=2),
        row(b"/fs/old/d", 3, nlink=2),
        row(b"/fs/old/e", 4),
    ]  # fmt: skip
    dataset = with_rows(one_file, rows)

    found = dataset.view("gpfs.candidates", exclude=("keep",)).collect()
    (sums,) = dataset.view("gpfs.candidate_owners", exclude=("keep",)).collect().to_dicts()

    assert found.select("path", "paths").rows() == [("/fs/old/a", 2), ("/fs/old/e", 1)]
    assert (sums["inodes"], sums["linked_inodes"], sums["elsewhere_inodes"]) == (2, 1, 2)
    assert (sums["size_bytes"], sums["elsewhere_size_bytes"]) == (2 * 4096, 2 * 4096)
    assert sums["excluded_inodes"] == 1


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("*.h5", {"/fs/a.h5/x", "/fs/ref/b.h5"}),
        ("ref", {"/fs/ref/b.h5", "/fs/ref/c"}),
        ("/fs/ref", {"/fs/ref/b.h5", "/fs/ref/c"}),
        ("re?", {"/fs/ref/b.h5", "/fs/ref/c"}),
        ("/ref", set()),
        ("fs/ref/", {"/fs/ref/b.h5", "/fs/ref/c"}),
        ("a.h5/x", {"/fs/a.h5/x"}),
        ("A.H5", set()),
        ("a.h", set()),
        ("100%", {"/fs/100%"}),
        ("n*e", {"/fs/new\nline"}),
    ],
)
def test_a_pattern_is_of_names_anywhere_or_of_a_whole_path(one_file, pattern, kept):
    names = ["a.h5/x", "ref/b.h5", "ref/c", "reference", "100%", "new\nline"]
    everything = {f"/fs/{name}" for name in names}
    dataset = with_rows(one_file, [row(p.encode(), n) for n, p in enumerate(everything, 1)])

    assert set(paths(dataset, exclude=(pattern,))) == everything - kept
    assert set(paths(dataset, only=(pattern,))) == kept


@pytest.mark.parametrize("pattern", ["*", "/", "**/"])
def test_a_pattern_that_fits_everything_is_refused(one_file, pattern):
    with pytest.raises(harvest.UsageError, match="fits every path"):
        one_file.view("gpfs.candidates", exclude=(pattern,)).collect()


def test_owners_are_numbers_or_names_of_the_passwd_file(one_file, tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("ada:x:8::::\nnobody:*:-2::::\n")
    files = [row(b"/fs/a", 1), row(b"/fs/b", 2, uid=8), row(b"/fs/c", 3, uid=-2)]
    dataset = with_rows(one_file, files)

    assert paths(dataset, owner=("7",)) == ["/fs/a"]
    assert paths(dataset, owner=("-2",)) == ["/fs/c"]
    assert paths(dataset, owner=("nobody",), passwd=passwd) == ["/fs/c"]
    assert paths(dataset, owner=("ada",), passwd=passwd) == ["/fs/b"]
    with pytest.raises(harvest.UsageError, match="no owner 'bob': the passwd file has none"):
        dataset.view("gpfs.candidates", owner=("bob",), passwd=passwd)


def test_directories_never_go_and_links_if_asked_for(one_file):
    kinds = {"F": "file", "L": "symlink", "D": "directory"}
    rows = [row(f"/fs/{kind}".encode(), n, kind=kind) for n, kind in enumerate(kinds, 1)]
    dataset = with_rows(one_file, rows)

    assert paths(dataset) == ["/fs/F"]
    assert paths(dataset, kind=("file", "symlink", "other", "unknown")) == ["/fs/F", "/fs/L"]
