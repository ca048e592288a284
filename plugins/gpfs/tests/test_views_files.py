"""Views that list paths, and the checks of a list's quality."""

import random
from datetime import timedelta

import pytest
from scan_rows import NOW, dataset, row

from harvest import UsageError


@pytest.mark.parametrize("n", [3, 400])
def test_the_largest_are_those_that_sorting_finds(tmp_path, n):
    """Many equal sizes, objects with more links than rows are asked for, and what has no size."""
    pick = random.Random(n)
    rows = [
        row(f"/d/{number:04d}", pick.randrange(40), nlink=None, generation=None)
        for number in range(600)
    ]
    for r in rows:
        r["size_bytes"] = r["inode"] // 8  # by object
    others = [row("/d/none", 1000, None), row("/d", 1001, 1 << 40, kind="directory")]
    data = dataset(tmp_path, rows[:300], [*rows[300:], *others])
    first = {}
    for r in sorted(rows, key=lambda r: r["path"]):
        first.setdefault(r["inode"], r)
    order = sorted(first.values(), key=lambda r: (-r["size_bytes"], r["inode"]))[:n]
    wanted = sorted((-r["size_bytes"], r["path"]) for r in order)
    found = data.rows("gpfs.largest", n=n)
    assert [(-r["size_bytes"], r["path"]) for r in found] == wanted


def test_the_oldest_by_another_time_with_names(tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("ann:x:1000:\n")
    times = {f"/d/{days}": NOW - timedelta(days=days) for days in (5, 500, 50)}
    data = dataset(
        tmp_path / "out", [row(p, n, 1, access_time=t) for n, (p, t) in enumerate(times.items())]
    )
    found = data.rows("gpfs.oldest", by="access", n=2, passwd=str(passwd))
    assert [(r["path"], r["user"]) for r in found] == [("/d/500", "ann"), ("/d/50", "ann")]
    with pytest.raises(UsageError, match=r"must be one of .*, not 'size'"):
        data.view("gpfs.oldest", by="size")
    with pytest.raises(UsageError, match="'some' does not fit: must be a whole number"):
        data.view("gpfs.largest", n="some")


ODD = {
    "/d/plain-name_1.txt": "",
    "/d/new\nline": "control character",
    "/d/\x1b[31mred": "control character, shell character",
    "/d/ begins blank": "blank at an end",
    "/d/ends blank ": "blank at an end",
    "/d/-rf": "begins with a dash",
    "/d/it's": "quote",
    "/d/a*b": "shell character",
    "/d/50%41": "percent code",
    "/d/back\\slash": "backslash",
    "/d/\u202etxt.exe": "invisible or bidirectional character",
    "/d/" + "x" * 201: "longer than 200 characters",
    "/d/inner blank": "",
    "/d/café": "",
}


def test_odd_names_are_told_with_what_is_odd(tmp_path):
    rows = [row(path, n) for n, path in enumerate(ODD)]
    rows.append(row("/d/bad\\xff", 90, path_raw=b"/d/bad\xff"))
    rows.append(row("/d/two\\\\bad\\xff", 91, path_raw=b"/d/two\\bad\xff"))
    data = dataset(tmp_path, rows)
    found = {r["path"]: r["oddities"] for r in data.rows("gpfs.odd_names")}
    assert found == {
        **{path: told for path, told in ODD.items() if told},
        "/d/bad\\xff": "not UTF-8",
        "/d/two\\\\bad\\xff": "not UTF-8, backslash",
    }
    only = data.rows("gpfs.odd_names", kinds="quote, percent code")
    assert [r["path"] for r in only] == ["/d/it's", "/d/50%41"]
    with pytest.raises(UsageError, match="no oddity 'ugly'"):
        data.view("gpfs.odd_names", kinds="ugly")


@pytest.mark.slow
def test_what_a_second_list_of_a_scan_repeats_with_other_sizes_counts_once(tmp_path):
    old = NOW - timedelta(days=900)
    rows = [
        row("/fs", 1, kind="directory"),
        row("/fs/a", 2, kind="directory"),
        row("/fs/a/f", 3, 10_000, uid=7, heat=0.5),
        row("/fs/a/g", 4, 80_000, access_time=old, modify_time=old),
        *(row(path, 5, 5, nlink=2) for path in ("/fs/a/h", "/fs/i")),
        row("/fs/j", 6, 7, nlink=None),
    ]
    once = dataset(tmp_path / "once", rows)
    copy = [{**r, "origin": "/z.list", "size_bytes": 1, "nlink": None} for r in rows[::-1]]
    twice = dataset(tmp_path / "twice", rows, copy)
    names = "ages cold crowded directories extensions growth largest oldest owners policy usage"
    for name in names.split():
        given = {"least": 1} if name == "crowded" else {}
        assert twice.rows(f"gpfs.{name}", **given) == once.rows(f"gpfs.{name}", **given), name
    assert checks(twice)["rows that repeat a path"] == len(rows)


def checks(data, **given):
    return {r["check"]: r["count"] for r in data.rows("gpfs.scan_quality", **given)}


def test_the_quality_of_a_list(tmp_path):
    data = dataset(
        tmp_path,
        [
            row("/d/a", 1, 10_000, nlink=3),
            row("/d/b", 1, 10_000, nlink=3),
            row("/d/c", 2, 5, nlink=2),
            row("/d/d", 3, 5, uid=None),
            row("/d/d", 3, 5, uid=None, origin="/lists/b.list"),
            row("/d/sub", 9, 0, kind="directory", nlink=5),
        ],
        [
            row("/d/e", 4, 9000, allocated_bytes=0, nlink=2),
            row("/d/f", 4, 9001, allocated_bytes=0, nlink=2),
            row("/d/g", 5, -1, access_time=NOW + timedelta(days=1)),
            row("/d/h", 6, 9000, allocated_bytes=4096, modify_time=NOW.replace(year=1970, day=1)),
        ],
    )
    found = checks(data)
    assert found["lists"] == 2
    assert found["paths"] == 10
    assert found["kind directory"] == 1
    assert found["without uid"] == 2
    assert found["without heat"] == 10
    assert found["objects with several paths"] == 2
    assert found["rows that repeat a path"] == 1
    assert found["objects whose rows disagree"] == 1
    # inode 1 has one more path somewhere, inode 2 too
    assert found["objects with links elsewhere"] == 2
    assert found["data without blocks"] == 2
    assert found["sparse"] == 1
    assert found["sizes below zero"] == 1
    assert found["access_time after the scan"] == 1
    assert found["modify_time of 1970-01-01 or before"] == 1


def test_a_list_without_a_time_is_checked_too(tmp_path):
    data = dataset(tmp_path, [row("/d/a", 1, 1, scan_time=None)])
    assert "access_time after the scan" not in checks(data)
    assert checks(data, now="2025-01-01")["access_time after the scan"] == 1
