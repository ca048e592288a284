"""Every table of gpfs.summary adds up to the report's totals, whatever its lists leave out."""

from datetime import timedelta

import pytest
from scan_rows import NOW, harvested, row

pytestmark = pytest.mark.slow

WEEK = timedelta(days=7)
OLD, NEW = {"scan_time": NOW}, {"scan_time": NOW + WEEK, "origin": "/lists/b.list"}
MISSING = {
    "nothing": (),
    **{
        name: (name,)
        for name in ("kind", "size_bytes", "allocated_bytes", "uid", "gid", "pool", "fileset")
    },
    **{name: (name,) for name in ("heat", "generation", "nlink", "scan_time", "access_time")},
    "all times": ("access_time", "modify_time", "change_time", "create_time", "scan_time"),
}


def scan(first, last, **more):
    """Objects of many owners, directories and ages; one in nine has a second path."""
    found = [row("/fs", 1, 0, kind="directory", uid=0, **more)]
    for n in range(first, last):
        made = NOW - timedelta(days=n * 20)
        values = {
            "uid": n % 7,
            "gid": n % 3,
            "pool": "data" if n % 2 else "tape",
            "fileset": f"set{n % 4}",
            "heat": n / 8,
            "nlink": 1 + (n % 9 == 0),
            "access_time": made,
            "modify_time": made,
            **more,
        }
        found.append(row(f"/fs/top{n % 5}/file{n}.x{n % 6}", 10 + n, n**5, **values))
        if n % 9 == 0:
            found.append(row(f"/fs/top{n % 4}/link{n}.x", 10 + n, n**5, **values))
    return found


def without(rows, names):
    return [one | dict.fromkeys(names) for one in rows]


def sums(rows):
    """Objects, those that are not directories, and their bytes where they are known."""
    objects = {one["inode"]: one for one in rows}.values()
    files = [one for one in objects if one["kind"] != "directory"]
    sizes = [one["size_bytes"] for one in objects if one["size_bytes"] is not None]
    return len(objects), len(files), sum(sizes) if sizes else None


@pytest.mark.parametrize("scans", [1, 2])
@pytest.mark.parametrize("missing", list(MISSING))
def test_tables_add_up_to_the_totals(tmp_path, missing, scans):
    # given scans whose lists leave something out
    parts = [without(scan(5, 40, **OLD), MISSING[missing]), scan(0, 36, **NEW)]
    parts[1] = without(parts[1], MISSING[missing])
    parts = parts[-scans:]
    untimed = "scan_time" in MISSING[missing]
    if untimed:  # they cannot be told apart by time: the newer one alone
        parts = parts[-1:]
    data = harvested(tmp_path, *parts)
    # when the report is made of few rows a table
    report = data.report("gpfs.summary", n=3)
    # then the totals in words and in every table are those of the latest scan
    objects, others, size = sums(parts[-1])
    tables = {table.name: table.data for table in report.tables}
    tiles = {tile.label: tile for tile in report.tiles}
    assert tiles["objects"].value == f"{objects:,}"
    for name in {"users", "groups", "top", "filesets", "pools"} & set(tables):
        assert bytes_of(tables[name]) == size, name
    for name in {"sizes", "extensions", "heat"} & set(tables):
        assert tables[name]["inodes"].sum() == others, name
    if size is not None:
        known = {one["inode"]: one for one in parts[-1] if one["kind"] != "directory"}.values()
        assert tables["small"]["small_inodes"].sum() == sum(
            one["size_bytes"] < 64 * 1024 for one in known
        )
    if "ages" in tables:
        for _, ages in tables["ages"].group_by("time"):
            assert ages["inodes"].sum() == others
    # and growth and churn are those of the scans there are
    assert ("growth" in tables) == ("churn" in tables) == (scans == 2 and not untimed)
    if "growth" in tables:
        earlier = sums(parts[0])
        newest, first = tables["growth"].rows(named=True)
        assert newest["inodes"] == objects
        assert first["inodes"] == earlier[0]
        assert bytes_of(tables["growth"].head(1)) == size
        assert bytes_of(tables["growth"].tail(1)) == earlier[2]
        assert newest["inodes_change"] == objects - earlier[0]
        assert first["inodes_change"] is None
        churn = tables["churn"]
        change = churn["created"].sum() - churn["deleted"].sum()
        assert change == others - earlier[1]
    # and what the report gives none of is in no table
    if missing in ("uid", "gid", "pool", "fileset"):
        assert {"uid": "users", "gid": "groups"}.get(missing, f"{missing}s") not in tables


def bytes_of(table):
    """The sum of a table's logical bytes; None where none is known."""
    return table["size_bytes"].sum() if table["size_bytes"].count() else None
