"""Names that may be copies, and directories of very many entries."""

import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_rows import dataset, row

from harvest_gpfs.views import paths as files


def test_one_name_and_size_in_several_directories_may_be_copies(tmp_path):
    data = dataset(
        tmp_path,
        [
            row("/fs/a/model.pt", 1, 3 << 20),
            row("/fs/b/model.pt", 2, 3 << 20),
            row("/fs/c/x/model.pt", 3, 3 << 20),
            row("/fs/d/model.pt", 4, (3 << 20) + 1),  # another size
            row("/fs/e/other.pt", 5, 3 << 20),  # another name
            row("/fs/a/linked", 6, 9 << 20, nlink=2),  # one file
            row("/fs/b/linked", 6, 9 << 20, nlink=2),
            row("/fs/a/small", 7, 1000),
            row("/fs/b/small", 8, 1000),
        ],
    )

    (found,) = data.rows("gpfs.duplicates", above="1M")

    assert (found["name"], found["copies"], found["extra_bytes"]) == ("model.pt", 3, 6 << 20)
    assert (found["first_path"], found["last_path"]) == ("/fs/a/model.pt", "/fs/c/x/model.pt")
    assert found["extra_share"] == (6 << 20) / ((5 * 3 << 20) + 1 + (9 << 20) + 2000)
    assert data.rows("gpfs.duplicates") == []  # little ones are not looked at
    names = [r["name"] for r in data.rows("gpfs.duplicates", above="1K")]
    assert names == ["model.pt"]
    names = [r["name"] for r in data.rows("gpfs.duplicates", above="1000")]
    assert names == ["model.pt", "small"]


def test_totals_are_of_all_names_however_few_are_shown(tmp_path):
    data = dataset(
        tmp_path,
        [row(f"/fs/{d}/f{n}", 10 * n + d, (n + 1) << 20) for n in range(5) for d in range(2)],
    )

    (shown,) = data.rows("gpfs.duplicates", above="1M", n="1")

    assert (shown["name"], shown["extra_bytes"]) == ("f4", 5 << 20)
    assert (shown["all_names"], shown["all_extra_copies"]) == (5, 5)
    assert shown["all_extra_bytes"] == 15 << 20


def test_directories_with_at_least_so_many_entries(tmp_path):
    data = dataset(
        tmp_path,
        [
            row("/top", 1, 7),
            *(row(f"/fs/many/f{n}", 10 + n, 2) for n in range(3)),
            row("/fs/many/below", 20, 0, kind="directory"),
            row("/fs/many/below/one\ntwo", 21, 5),
            row("/fs/few/f", 22, 1),
        ],
    )

    (many,) = data.rows("gpfs.crowded", least="4")
    assert (many["directory"], many["entries"], many["files"], many["directories"]) == (
        "/fs/many", 4, 3, 1,
    )  # fmt: skip
    assert many["size_bytes"] == 6
    every = [(r["directory"], r["entries"]) for r in data.rows("gpfs.crowded", least="1")]
    assert every == [("/fs/many", 4), ("/", 1), ("/fs/few", 1), ("/fs/many/below", 1)]


PATHS = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from(["x", "y", "new\nline"]),
        st.integers(1, 8), st.sampled_from([0, 1, 5, None]),
    ),
    min_size=1,
    max_size=14,
    unique_by=lambda one: one[:2],
)  # fmt: skip


@pytest.mark.slow
@given(listed=PATHS)
def test_suspects_equal_those_counted_one_by_one(listed):
    size_of = {inode: size for *_, inode, size in reversed(listed)}
    rows = [row(f"/fs/{d}/{name}", inode, size_of[inode]) for d, name, inode, _ in listed]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "LEAST_NAMED_ROWS", 3)  # several shares
        data = dataset(Path(folder), rows)
        copies = data.rows("gpfs.duplicates", above="0")
        crowded = data.rows("gpfs.crowded", least="2")

    inodes, entries = defaultdict(set), defaultdict(int)
    for d, name, inode, _ in listed:
        entries[f"/fs/{d}"] += 1
        if size_of[inode]:
            inodes[name, size_of[inode]].add(inode)
    wanted = {key: len(found) for key, found in inodes.items() if len(found) > 1}
    if all(size is None for size in size_of.values()):
        wanted = {(None, None): None}  # whether any occurs twice is not known
    assert {(r["name"], r["size_bytes"]): r["copies"] for r in copies} == wanted
    total = sum(size * (count - 1) for (_, size), count in wanted.items() if size is not None)
    assert {r["all_extra_bytes"] for r in copies} <= {None if (None, None) in wanted else total}
    several = {path: count for path, count in entries.items() if count > 1}
    assert {r["directory"]: r["entries"] for r in crowded} == several
