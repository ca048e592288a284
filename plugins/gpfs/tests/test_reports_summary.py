"""The report gpfs.summary: its numbers are those of the views, and hostile names stay text."""

from datetime import timedelta

import pytest
from scan_rows import NOW, harvested, row

HOSTILE = "/fs/a/<script>alert(1)</script>\x1b[31m$x$.nc"
WEEK = timedelta(days=7)


def rows(**more):
    return [
        row("/fs", 1, 0, kind="directory", uid=0, **more),
        row(HOSTILE, 2, 7 << 30, heat=0.5, **more),
        row("/fs/b/y.h5", 3, 1 << 20, uid=1001, fileset="home", **more),
        row("/fs/b/z", 4, None, uid=None, pool=None, **more),
    ]


def tables(report):
    return {table.name: table.data.to_dicts() for table in report.tables}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    later = [*rows(scan_time=NOW + WEEK), row("/fs/c/new", 9, 5 << 30, scan_time=NOW + WEEK)]
    return harvested(tmp_path_factory.mktemp("two"), rows(), later)


@pytest.fixture(scope="module")
def report(data):
    return data.report("gpfs.summary")


@pytest.mark.slow
def test_tables_hold_what_the_views_say(report, data):
    found = tables(report)
    usage = data.view("gpfs.usage", by="user").collect()
    assert [(r["user"], r["files"], r["size_bytes"]) for r in found["users"]] == [
        (user, files, size)
        for user, files, size in usage.select("user", "files", "size_bytes").iter_rows()
    ]
    assert {r["fileset"]: r["files"] for r in found["filesets"]} == {"home": 1, None: 3}
    assert sum(r["inodes"] for r in found["sizes"]) == 4
    assert [r["inodes_change"] for r in found["growth"]] == [1, None]
    assert sum(r["created"] for r in found["churn"]) == 1
    assert found["heat"][0]["warm"] == 1
    assert [r["path"] for r in found["largest"]][:2] == [HOSTILE, "/fs/c/new"]
    assert {r["oddity"] for r in found["odd-names"]} == {"control character", "shell character"}


@pytest.mark.slow
def test_hostile_names_are_text_in_every_form(report, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    report.write(tmp_path / "all/")
    page = (tmp_path / "all" / "report.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for path in (tmp_path / "all").iterdir():
        if path.suffix in (".html", ".txt", ".tex", ".svg"):
            assert b"\x1b" not in path.read_bytes(), path.name
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_key_numbers_are_sums_of_the_tables(report):
    users = tables(report)["users"]
    tiles = {tile.label: str(tile).partition(": ")[2] for tile in report.tiles}

    # 7 GiB and 1 MiB, and a file of 5 GiB; of one of the four files nothing is known
    assert tiles["logical size"] == "12.0 GiB (allocated: 12.0 GiB)"
    assert sum(row["size_bytes"] or 0 for row in users) == (12 << 30) + (1 << 20)
    assert tiles["objects"] == "5 (4 files, 1 directory)"
    assert tiles["unused for 365 days"].startswith("0 bytes")
    assert tiles["files below 64.0 KiB"] == "0 (0 % of files with a size)"
    assert tiles["largest user"] == "1000 (12.0 GiB, 99.9 % of all data)"
    assert report.picture.name == "users-plot"


def test_key_numbers_that_a_list_does_not_record_say_so(tmp_path):
    missing = {"scan_time": None, "uid": None, "allocated_bytes": None, "kind": None}
    data = harvested(tmp_path, [row("/fs/d/f", 1, None, **missing)])

    tiles = [str(tile) for tile in data.report("gpfs.summary").tiles]

    assert tiles == [
        "logical size: not recorded (allocated: not recorded)",
        "objects: 1 (kinds not recorded)",
        "unused for 365 days: not recorded",
        "files below 64.0 KiB: not recorded",
    ]


def test_many_users_share_the_last_row(tmp_path):
    data = harvested(tmp_path, [row(f"/fs/d/f{n}", n, n << 20, uid=n) for n in range(30)])
    users = tables(data.report("gpfs.summary", n="4"))["users"]
    assert len(users) == 5
    assert users[0]["user"] == "29"
    assert users[-1]["user"] == "(26 others)"
    assert users[-1]["files"] == 26


@pytest.mark.slow
def test_one_list_without_a_time_has_no_ages_and_says_why(tmp_path):
    data = harvested(tmp_path, [row("/fs/d/f", 1, 5, scan_time=None, allocated_bytes=None)])
    report = data.report("gpfs.summary")
    assert "ages" not in tables(report)
    assert "growth" not in tables(report)
    assert "does not record when its scan was made" in report.text()
    assert "allocated" not in "".join(c.name for t in report.tables for c in t.columns)
    dated = data.report("gpfs.summary", now="2026-02-01")
    assert "ages" in tables(dated)
