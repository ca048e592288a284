"""The report gpfs.change: its tables are one comparison, and add up to its key numbers."""

from datetime import timedelta

import polars as pl
import pytest
from scan_rows import NOW, harvested, row

from harvest_gpfs.report.plots import growth_bars

MONTH = {"scan_time": NOW + timedelta(days=30), "origin": "/lists/b.list"}
MIB = 2**20


def first_scan():
    """Files of five users in four pools, filesets and directories, one in nine linked twice."""
    found = [row("/fs", 1, 4096, kind="directory", uid=0)]
    for n in range(40):
        made = NOW - timedelta(days=20 * n)
        values = {
            "uid": n % 5, "gid": n % 2, "pool": f"pool{n % 4}", "fileset": f"set{n % 4}",
            "nlink": 1 + (n % 9 == 0), "access_time": made, "modify_time": made,
        }  # fmt: skip
        size = (n + 1) * MIB + n
        found.append(row(f"/fs/top{n % 3}/d{n % 4}/f{n}", 10 + n, size, **values))
        if n % 9 == 0:
            found.append(row(f"/fs/top0/links/f{n}", 10 + n, size, **values))
    return found


def second_scan():
    """A month later: some deleted, grown, renamed, handed over, migrated or made."""
    found = []
    for one in first_scan():
        n = one["inode"] - 10
        if n in (3, 7, 11):
            continue
        changed = dict(one)
        if n % 10 == 1:
            changed |= {"size_bytes": one["size_bytes"] + 5, "modify_time": MONTH["scan_time"]}
        if n % 10 == 2:
            changed["path"] += ".old"
        if n % 10 == 4:
            changed["uid"] = 4 - one["uid"]
        if n % 10 == 5:
            changed["pool"] = "tape"
        found.append(changed | MONTH)
    found += [row(f"/fs/new/d/f{n}", 900 + n, 3 * MIB, uid=9, **MONTH) for n in range(4)]
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return harvested(tmp_path_factory.mktemp("change"), first_scan(), second_scan())


@pytest.fixture(scope="module")
def report(data):
    return data.report("gpfs.change", n=2, policy="30,360", cold="180d")


def tables(report):
    return {table.name: table.data for table in report.tables}


def volume(rows):
    """Bytes of the objects that are not directories, each once."""
    sizes = {one["inode"]: one["size_bytes"] for one in rows if one["kind"] != "directory"}
    return len(sizes), sum(sizes.values())


def test_the_key_numbers_say_who_grew_and_by_what(report):
    before, after = volume(first_scan()), volume(second_scan())

    # 820 MiB and 780 bytes, less files of 4, 8 and 12 MiB, and 4 new ones of 3 MiB
    # user 0 had files of 1, 6, ... 36 MiB, and got those of 5, 15, 25 and 35 MiB from user 4
    assert [*map(str, report.tiles)] == [
        "growth: -12.0 MiB (-1.5 % in 30 days)",
        "logical size: 808 MiB (820 MiB before)",
        "new: 12.0 MiB (4 objects)",
        "deleted: 24.0 MiB (3 objects)",
        "fastest-growing user: 0 (+80.0 MiB, +54 %)",
    ]
    assert (before[1] // MIB, after[1] // MIB) == (820, 808)
    assert report.intro == (
        f"From 2026-01-11 to 2026-02-10: {before[0]} objects became {after[0]}. "
        "3 were modified, 4 renamed.",
    )
    assert report.picture.name == "user-plot"


def net_by_user():
    """How much the files of each user hold more in the second scan."""
    net = dict.fromkeys((0, 1, 2, 3, 4, 9), 0)
    for rows, sign in ((first_scan(), -1), (second_scan(), 1)):
        files = {one["inode"]: one for one in rows if one["kind"] != "directory"}
        for one in files.values():
            net[one["uid"]] += sign * one["size_bytes"]
    return net


def test_who_shrank_stands_beside_who_grew(report):
    """Given two rows: the two users who changed most, though others grew more than one of them."""
    net = net_by_user()
    most = sorted(net, key=lambda uid: -abs(net[uid]))[:2]
    assert {net[uid] > 0 for uid in most} == {True, False}

    users = tables(report)["users"]

    ordered = sorted(most, key=lambda uid: -net[uid])
    assert users["user"].to_list() == [*map(str, ordered), "(4 others)"]
    assert users["growth_bytes"].to_list()[:2] == [net[uid] for uid in ordered]
    before, after = volume(first_scan()), volume(second_scan())
    assert users["growth_bytes"].sum() == sum(net.values()) == after[1] - before[1]
    (note,) = [table.note for table in report.tables if table.name == "users"]
    assert note.endswith("Growth of all rows: -12.0 MiB.")


def test_every_table_adds_up_to_the_whole(report):
    found = tables(report)
    before, after = volume(first_scan()), volume(second_scan())

    for name in ("users", "groups", "filesets", "pools", "directories"):
        table = found[name]
        assert (table["old_bytes"].sum(), table["new_bytes"].sum()) == (before[1], after[1]), name
        moved = table["moved_bytes"] if "moved_bytes" in table.columns else 0
        made_of = table["created_bytes"] - table["deleted_bytes"] + table["grown_bytes"] + moved
        assert made_of.to_list() == table["growth_bytes"].to_list(), name
    for name in ("user-objects", "top-objects"):
        assert (found[name]["old_inodes"].sum(), found[name]["new_inodes"].sum()) == (
            before[0], after[0],
        )  # fmt: skip
    assert "moved_bytes" in found["pools"].columns
    assert "moved_bytes" not in found["groups"].columns


@pytest.mark.slow
def test_directories_that_vanished_and_appeared_are_listed(data):
    whole = tables(data.report("gpfs.change", top_depth=2))
    assert whole["appeared"].rows() == [("/fs/new/d", 4, 12 * MIB)]
    assert "vanished" not in whole

    back = tables(data.report("gpfs.change", **{"from": "2026-02", "to": "2026-01"}))
    assert back["vanished"].rows() == [("/fs/new/d", 4, 12 * MIB)]


def test_cold_data_and_policies_are_of_the_later_scan(report):
    found = tables(report)
    later = MONTH["scan_time"]

    def older(days):
        ages = {
            one["inode"]: (max(one["access_time"], one["modify_time"]), one["size_bytes"])
            for one in second_scan()
            if one["kind"] != "directory"
        }
        sizes = [size for time, size in ages.values() if time < later - timedelta(days=days)]
        return len(sizes), sum(sizes)

    assert (found["cold"]["cold_inodes"].sum(), found["cold"]["cold_size_bytes"].sum()) == older(
        180
    )
    both = found["policy"].filter(time="neither")
    assert both.select("freed_inodes", "freed_size_bytes").rows() == [older(30), older(360)]
    assert both["days"].to_list() == [30, 360]


@pytest.mark.slow
def test_it_fits_eighty_columns_and_a_page(report):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    text = report.text(80)

    assert max(map(len, text.splitlines())) <= 80
    for heading in ("growth", "deleted", "others", "modified", "renamed", "cold share"):
        assert heading in text  # not broken within the word
    assert report.html() == report.html()
    assert "<svg" in report.html()


def test_lists_without_a_time_are_compared_by_name_and_have_no_ages(tmp_path):
    lists = [
        [row("/fs/a/x", 1, 5, scan_time=None, origin=f"/lists/{name}.list", **more)]
        for name, more in (("a", {}), ("b", {"uid": 2}))
    ]
    data = harvested(tmp_path, *lists)

    report = data.report("gpfs.change", **{"from": "a.list", "to": "b.list"})

    assert report.intro[0].startswith("From /lists/a.list to /lists/b.list: 1 object became 1.")
    assert str(report.tiles[0]) == "growth: 0 bytes (0 %)"
    assert not {"cold", "policy"} & set(tables(report))


def test_a_picture_says_how_many_it_leaves_out_and_of_how_many_nothing_is_known():
    growth = [*range(1, 19), None, None]
    table = pl.DataFrame({"user": [f"u{n}" for n in range(20)], "growth_bytes": growth})

    alt = growth_bars("users", "Growth", table, "user").alt

    assert alt.startswith("Growth of the 15 of 20 that changed most, from u17 (18 bytes) to ")
    assert alt.endswith(" The growth of 2 is unknown.")
