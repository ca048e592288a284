"""Every backend against plain Python loops over dicts, on small datasets of all kinds."""

import math
import os
import tempfile
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_rows import NOW, dataset, files, row

from harvest_gpfs import aggregate, write_result
from harvest_gpfs.aggregation import BACKENDS, METRICS
from harvest_gpfs.aggregation.definition import Aggregation
from harvest_gpfs.aggregation.groupings import AgeBins, Setting, SizeBins
from harvest_gpfs.aggregation.listing import Listing
from harvest_gpfs.aggregation.on_polars import PolarsRows

USABLE = [
    pytest.param(name, marks=pytest.mark.skipif(missing() is not None, reason=f"cannot run {name}"))
    for name, missing in BACKENDS.items()
    if name != "dask"  # a cluster starts too slowly for many examples; see below
]

NAMES = st.sampled_from(
    ["a", "b", "b-c", "data.nc", "x.TAR.gz", ".hidden", "end.", "=1+1", "é", "new\nline", "a b"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/fs/" + "/".join(names))
AGES = st.one_of(
    st.none(),
    st.sampled_from([-1, 0, 7, 30, 365, 365.5, 4000]).map(lambda d: NOW - timedelta(days=d)),
    st.integers(-(10**12), 10**15).map(lambda us: NOW - timedelta(microseconds=us)),
)
SIZES = st.one_of(st.none(), st.sampled_from([0, 1, 4096, 4097, 65536]), st.integers(0, 2**55))

ROWS = st.builds(
    row,
    PATHS,
    st.sampled_from([2, 3, 4, 2**64 - 1]),
    SIZES,
    allocated_bytes=SIZES,
    generation=st.sampled_from([1, 2, None]),
    snapshot_id=st.sampled_from([0, None]),
    create_time=st.sampled_from([NOW, None]),
    kind=st.sampled_from(["file", "file", "directory", "symlink", "other", None]),
    uid=st.sampled_from([0, 1000, 1001, None]),
    gid=st.sampled_from([5, None]),
    pool=st.sampled_from(["data", "system", None]),
    fileset=st.sampled_from(["root", None]),
    heat=st.one_of(st.none(), st.sampled_from([0.0, 1e-10, 0.25, 3.5, math.inf, 1e300])),
    nlink=st.sampled_from([None, 0, 1, 2, 3]),
    access_time=AGES,
    modify_time=AGES,
)
DATASETS = st.lists(
    st.lists(ROWS, max_size=8), min_size=1, max_size=3
).filter(lambda parts: any(parts))  # fmt: skip

BY = ("uid", "gid", "top", "directory", "fileset", "pool", "kind", "extension", "size_bin",
      "access_age", "modify_age", "cold", "small")  # fmt: skip


def once(parts):
    """The rows with different paths, for one path tells one row alone."""
    seen = set()
    kept = []
    for part in parts:
        kept.append([r for r in part if not (r["path"] in seen or seen.add(r["path"]))])
    return kept


# -- the same in plain Python --------------------------------------------------------------------


def first_paths(rows):
    """For each row, whether it stands for its object."""
    seen = set()
    flags = {}
    for r in sorted(rows, key=lambda r: r["path"].encode()):
        may_repeat = r["nlink"] not in (0, 1) and r["kind"] != "directory"
        identity = (r["inode"], r["generation"], r["snapshot_id"], r["create_time"])
        flags[r["path"]] = not (may_repeat and identity in seen)
        if may_repeat:
            seen.add(identity)
    return flags


def root_of(paths):
    if len(set(paths)) == 1:
        return paths[0].rpartition("/")[0]
    return os.path.commonpath(paths)


def directories_of(r, root):
    """The directories below the root that a row lies in, its own too where it is one."""
    below = os.path.relpath(r["path"], root)
    names = [] if below == "." else below.split("/")
    return names if r["kind"] == "directory" else names[:-1]


def bin_of(value, edges, labels):
    return None if value is None else labels[sum(value > edge for edge in edges)]


SIZE_LABELS = ["empty", "up to 4 KiB", "4 KiB to 64 KiB", "above 64 KiB"]
AGE_LABELS = ["in the future", "up to 7 days", "7 days to 1 year", "above 1 year"]


def age_of(time):
    if time is None:
        return None
    days = (NOW - time) / timedelta(days=1)
    if days < 0:
        return AGE_LABELS[0]
    return AGE_LABELS[1 + sum(NOW - time > timedelta(days=edge) for edge in (7, 365))]


def extension_of(r):
    stem, dot, suffix = r["path"].rpartition("/")[2].rpartition(".")
    plain = suffix.isascii() and all(c.isalnum() or c in "_+~-" for c in suffix)
    fits = r["kind"] != "directory" and stem and dot and 0 < len(suffix) <= 16 and plain
    return suffix.lower() if fits else None


def cold(r):
    """Not with a late time; nobody knows where a time is not known, and the other is not late."""
    times = [r["access_time"], r["modify_time"]]
    if any(t is not None and t >= NOW - timedelta(days=365) for t in times):
        return False
    return None if None in times else True


def keys_of(r, by, root):
    """The groups that a row counts in: one, but for directories."""
    names = directories_of(r, root)
    if by == "top":
        return ["/".join([root, *names[:1]])]
    if by == "directory":
        return [
            ("/".join([root, *names[:depth]]), depth) for depth in range(min(len(names), 2) + 1)
        ]
    if by in ("uid", "gid", "fileset", "pool", "kind"):
        return [r.get(by)]
    return [
        {
            "extension": lambda: extension_of(r),
            "size_bin": lambda: bin_of(r["size_bytes"], (0, 4096, 65536), SIZE_LABELS),
            "access_age": lambda: age_of(r["access_time"]),
            "modify_age": lambda: age_of(r["modify_time"]),
            "cold": lambda: cold(r),
            "small": lambda: None if r["size_bytes"] is None else r["size_bytes"] < 65536,
        }[by]()
    ]


def heat_units(r):
    heat = r["heat"]
    return int(heat * 1e9) if heat is not None and math.isfinite(heat) and heat < 2**33 else None


def warm_size(r):
    """None where heat or size is not told."""
    if heat_units(r) is None or r["size_bytes"] is None:
        return None
    return r["size_bytes"] if r["heat"] > 0 else 0


def count(values, wanted):
    """None where there are objects and nothing is told of any."""
    return None if values and set(values) == {None} else values.count(wanted)


def total(values):
    known = [v for v in values if v is not None]
    return sum(known) if known or not values else None


def edge(pick, values):
    return pick((v for v in values if v is not None), default=None)


def expected(rows, by, root=None):
    counts = first_paths(rows)
    root = root or root_of([r["path"] for r in rows])
    groups = defaultdict(list)
    for r in rows:
        for key in keys_of(r, by, root):
            groups[key].append(r)
    found = {}
    for key, members in groups.items():
        objects = [r for r in members if counts[r["path"]]]
        kinds = [r["kind"] for r in objects]
        found[key] = {
            "paths": len(members),
            "inodes": len(objects),
            "files": count(kinds, "file"),
            "directories": count(kinds, "directory"),
            "symlinks": count(kinds, "symlink"),
            "others": count(kinds, "other"),
            "unknown_kind": kinds.count(None),
            "hard_links": len(members) - len(objects),
            "size_bytes": total([r["size_bytes"] for r in objects]),
            "allocated_bytes": total([r["allocated_bytes"] for r in objects]),
            "unknown_size": [r["size_bytes"] for r in objects].count(None),
            "unknown_allocated": [r["allocated_bytes"] for r in objects].count(None),
            "with_heat": sum(heat_units(r) is not None for r in objects),
            "warm": count(
                [None if heat_units(r) is None else r["heat"] > 0 for r in objects],
                True,
            ),
            "warm_bytes": total([warm_size(r) for r in objects]),
            "heat_units": total([heat_units(r) for r in objects]),
            "hottest": edge(max, [None if heat_units(r) is None else r["heat"] for r in members]),
            "oldest_access_time": edge(min, [r["access_time"] for r in members]),
            "newest_access_time": edge(max, [r["access_time"] for r in members]),
            "oldest_modify_time": edge(min, [r["modify_time"] for r in members]),
            "newest_modify_time": edge(max, [r["modify_time"] for r in members]),
        }
    return found


# ------------------------------------------------------------------------------------------------

OPTIONS = {"metrics": tuple(METRICS), "sizes": "4K,64K", "ages": "7d,1y", "scan": "all"}


def as_groups(frame, by):
    """Group -> metrics."""
    found = {}
    for values in frame.iter_rows(named=True):
        key = values.pop(by)
        depth = values.pop("depth", None)
        found[key if by != "directory" else (key, depth)] = values
    assert len(found) == frame.height
    return found


@pytest.mark.slow
@pytest.mark.parametrize("backend", USABLE)
@given(parts=DATASETS.map(once), data=st.data())
def test_a_backend_counts_as_loops_over_dicts_do(backend, parts, data):
    by, rows = data.draw(st.sampled_from(BY)), [r for part in parts for r in part]
    again = data.draw(st.lists(st.sampled_from(rows), max_size=8))
    overlap = [{**r, "origin": "/lists/b.list", "nlink": None} for r in again]
    with tempfile.TemporaryDirectory() as folder:
        dataset(Path(folder), *parts, overlap)
        result = aggregate(files(Path(folder)), by=by, backend=backend, **OPTIONS)
    assert as_groups(result.frame, by) == expected(rows, by)


@pytest.mark.slow
@given(parts=DATASETS, by=st.lists(st.sampled_from(BY), max_size=3, unique=True))
def test_all_backends_write_the_same_bytes(parts, by):
    with tempfile.TemporaryDirectory() as folder:
        dataset(Path(folder) / "scan", *parts)
        written = {}
        for name, missing in BACKENDS.items():
            if missing() is not None or name == "dask":
                continue
            found = aggregate(files(Path(folder) / "scan"), by=by, backend=name, **OPTIONS)
            for suffix in ("csv", "parquet", "jsonl"):
                path = write_result(found, Path(folder) / f"{name}.{suffix}")
                assert path.read_bytes() == written.setdefault(suffix, path.read_bytes())


@pytest.mark.slow
@given(
    parts=DATASETS.map(once),
    finer=st.lists(st.sampled_from(BY), min_size=1, max_size=4, unique=True),
    directories=st.booleans(),
    data=st.data(),
)
def test_sums_of_smaller_groups_are_added_up_as_loops_do(parts, finer, directories, data):
    by = data.draw(st.sampled_from([*finer, *(["top"] if "directory" in finer else [])]))
    setting = Setting(sizes=SizeBins.parse("4K,64K"), ages=AgeBins.parse("7d,1y"))
    with tempfile.TemporaryDirectory() as folder:
        rows = CountedRows(dataset(Path(folder), *parts)["gpfs.file"])
        listing = Listing.of(rows, "all")
        listing.aggregate(finer, METRICS, setting)
        read = rows.aggregated
        frame = listing.aggregate([by], METRICS, setting, directories=directories)
    found = [r for part in parts for r in part if directories or r["kind"] != "directory"]
    root = root_of([r["path"] for part in parts for r in part])
    assert as_groups(frame, by) == expected(found, by, root)
    assert (rows.aggregated == read) == (directories or "kind" in finer)


class CountedRows(PolarsRows):
    """Rows that know how many aggregations went through all of them."""

    aggregated = 0

    def of(self, scan):
        return self

    def reduce(self, step):
        type(self).aggregated += isinstance(step, Aggregation)
        return super().reduce(step)
