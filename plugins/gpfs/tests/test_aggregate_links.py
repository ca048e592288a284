"""An object with several hard links counts once, whatever results are grouped by."""

from scan_rows import dataset, files, row

from harvest_gpfs import aggregate


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
