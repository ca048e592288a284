"""An object with several hard links counts once, whatever results are grouped by."""

from __future__ import annotations

import pytest
from scan_rows import dataset, files, row

from harvest_gpfs import aggregate


@pytest.fixture
def linked(tmp_path):
    """Inode 7 has two paths in two directories and two parts; inodes 8 and 9 have one each."""
    dataset(
        tmp_path,
        [row("/data/b/second", 7, 100, nlink=2), row("/data/b/own", 8, 10)],
        [row("/data/a/first", 7, 100, nlink=2), row("/data/c/own", 9, 1, uid=2000)],
    )
    return tmp_path


def result(folder, by, **settings):
    return aggregate(files(folder), by=by, backend="streaming", **settings).frame.rows_by_key(
        by, named=True, unique=True
    )


def test_across_directories_it_counts_at_its_first_path(linked):
    top = result(linked, "top")
    assert {name: (found["inodes"], found["size_bytes"]) for name, found in top.items()} == {
        "/data/a": (1, 100),
        "/data/b": (1, 10),
        "/data/c": (1, 1),
    }
    assert top["/data/b"]["hard_links"] == 1


def test_every_file_may_have_links(tmp_path, monkeypatch):
    """A tree of hard links, as backups make them, in many passes that share nothing."""
    from harvest_gpfs.aggregation import listing

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
        assert found[f"/backup/day{day}"]["inodes"] == 0
        assert found[f"/backup/day{day}"]["size_bytes"] == 0
        assert found[f"/backup/day{day}"]["hard_links"] == 200
