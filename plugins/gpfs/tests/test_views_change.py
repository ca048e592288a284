"""Who grew between two scans: examples, and plain Python over dicts as a second opinion."""

import tempfile
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_rows import NOW, dataset, in_doubt, is_or_unknown, objects, row, sizes_of

from harvest import UsageError
from harvest_gpfs.aggregation.scans import Scan, label_of
from harvest_gpfs.views import pairs
from harvest_gpfs.views.change import span

LATER = NOW + timedelta(days=31)
BYS = ("user", "group", "fileset", "pool", "top", "user,top", "")
COLUMN = {"user": "uid", "group": "gid", "fileset": "fileset", "pool": "pool"}


def new_row(*args, **more):
    return row(*args, **{"scan_time": LATER, "origin": "/lists/b.list", **more})


def said(found):
    """The columns that are not zero, without the names of the scans."""
    return {k: v for k, v in found.items() if v and not k.endswith("_scan")}


@pytest.fixture
def month(tmp_path):
    """A month in which ada's data grow, bob's are deleted, and a file changes hands."""
    return dataset(
        tmp_path,
        [
            row("/fs/a/same", 1, 100, uid=1),
            row("/fs/a/grows", 2, 50, uid=1),
            row("/fs/b/deleted", 3, 30, uid=2),
            row("/fs/b/handed over", 4, 20, uid=2),
        ],
        [
            new_row("/fs/a/same", 1, 100, uid=1),
            new_row("/fs/a/grows", 2, 70, uid=1),
            new_row("/fs/c/handed over", 4, 20, uid=1),
            new_row("/fs/c/made", 5, 60, uid=1),
        ],
    )


def test_growth_by_user_with_what_it_is_made_of(month, tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("ada:x:1:\nbob:x:2:\n")

    ada, bob = month.rows("gpfs.change", by="user", passwd=str(passwd))

    assert said(ada) == {
        "user": "ada", "state": "kept", "old_inodes": 2, "new_inodes": 4, "inodes_change": 2,
        "old_bytes": 150, "new_bytes": 250, "growth_bytes": 100,
        "growth_percent": pytest.approx(200 / 3),
        "created": 1, "created_bytes": 60, "modified": 1, "modified_bytes": 70, "grown_bytes": 20,
        "renamed": 1, "renamed_bytes": 20, "moved_in": 1, "moved_in_bytes": 20,
    }  # fmt: skip
    assert said(bob) == {
        "user": "bob", "state": "gone", "old_inodes": 2, "inodes_change": -2,
        "old_bytes": 50, "growth_bytes": -50, "growth_percent": -100.0,
        "deleted": 1, "deleted_bytes": 30, "moved_out": 1, "moved_out_bytes": 20,
    }  # fmt: skip
    assert (ada["old_scan"], ada["new_scan"]) == ("2026-01-11T00:00:00Z", "2026-02-11T00:00:00Z")


def test_all_together_is_one_row_even_of_nothing(month, tmp_path):
    (whole,) = month.rows("gpfs.change", by="")
    assert (whole["old_bytes"], whole["new_bytes"], whole["renamed"]) == (200, 250, 1)

    folders = [[make("/fs", 1, 0, kind="directory")] for make in (row, new_row)]
    (nothing,) = dataset(tmp_path / "empty", *folders).rows("gpfs.change", by="")
    assert (nothing["old_inodes"], nothing["new_bytes"], nothing["growth_percent"]) == (0, 0, None)


def test_two_numbers_with_one_name_are_one_user(month, tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("both:x:1:\nboth:x:2:\n")

    (both,) = month.rows("gpfs.change", passwd=str(passwd))

    assert (both["user"], both["moved_in"], both["old_inodes"]) == ("both", 0, 4)


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """Scans of day 0, 10, 29 and 40."""
    times = [NOW + timedelta(days=days) for days in (0, 10, 29, 40)]
    parts = ([row("/fs/a/x", 1, n, scan_time=time)] for n, time in enumerate(times))
    return dataset(tmp_path_factory.mktemp("scans"), *parts)


@pytest.mark.parametrize(
    ("given", "days"),
    [
        ({}, (0, 40)),
        ({"to": "2026-02-09"}, (0, 29)),
        ({"from": "2026-02-20", "to": "2026-01-11"}, (40, 0)),
        ({"over": "12d"}, (29, 40)),
        ({"over": "1y"}, (0, 40)),
        ({"over": "5d", "to": "2026-01-21"}, (0, 10)),
    ],
)
def test_any_two_scans_can_be_compared_or_the_nearest_to_a_span(scans, given, days):
    (found,) = scans.rows("gpfs.change", by="", **given)

    expected = tuple(f"{NOW + timedelta(days=n):%Y-%m-%d}T00:00:00Z" for n in days)
    assert (found["old_scan"], found["new_scan"]) == expected


def test_of_two_scans_equally_near_the_earlier_one_counts():
    # given scans of day 0, 10, 20 and 30: day 15 is as near to day 10 as to day 20
    times = {n: NOW + timedelta(days=n) for n in (0, 10, 20)}
    ordered = [Scan(label_of(time), time, None, 1) for time in times.values()]

    before, after = span(
        [*ordered, Scan("last", NOW + timedelta(days=30), None, 1)], None, None, 15
    )

    assert (before.time, after.label) == (times[10], "last")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"from": "2026-01-21", "over": "30d"}, "both set the earlier scan"),
        ({"from": "2026-02-20"}, "compared with itself"),
        ({"from": "all"}, "all is not one scan"),
        ({"to": "2026-01-11"}, "no earlier scan to compare with"),
        ({"over": "soon"}, "is not an age"),
        ({"by": "owner"}, "must be of user, group, fileset, pool, top, not 'owner'"),
    ],
)
def test_what_cannot_be_compared_is_refused(scans, given, message):
    with pytest.raises(UsageError, match=message):
        scans.view("gpfs.change", **given)


def test_one_scan_alone_has_no_changes(tmp_path):
    data = dataset(tmp_path, [row("/fs/a", 1, 1)])

    assert data.rows("gpfs.change") == []
    with pytest.raises(UsageError, match="no earlier scan to compare with"):
        data.view("gpfs.change", over="30d")


# -- against dicts -------------------------------------------------------------------------------

TIMES = st.sampled_from([NOW - timedelta(days=3), NOW - timedelta(days=2), None])
ROWS = st.lists(
    st.builds(
        dict,
        path=st.sampled_from([f"/d/{top}/{name}" for top in "ab" for name in "xyz"] + ["/d/f"]),
        inode=st.integers(1, 5),
        size=st.sampled_from([0, 1, 100, None]),
        generation=st.sampled_from([1, 2]),
        create_time=st.sampled_from([NOW, NOW - timedelta(seconds=1)]),
        modify_time=TIMES,
        access_time=TIMES,
        uid=st.sampled_from([1, 2, None]),
        gid=st.sampled_from([10, 11]),
        pool=st.sampled_from(["data", "tape", None]),
        fileset=st.sampled_from(["home", "scratch"]),
        kind=st.sampled_from(["file", "file", "directory"]),
    ),
    min_size=1,
    max_size=9,
    unique_by=lambda r: r["path"],
)


def group_of(by):
    """The function that gives an object's group."""

    def one(name, r):
        if name == "top":
            parts = r["path"].split("/")
            return "/d" if len(parts) == 3 else f"/d/{parts[2]}"
        value = r[COLUMN[name]]
        return value if value is None else str(value)

    return lambda r: tuple(one(name, r) for name in by.split(",") if name)


def differ(was, now, *names):
    known = [(was[name], now[name]) for name in names]
    return any(a != b for a, b in known if None not in (a, b))


def expected(old, new, group):
    """Group -> its sums, by walking over all objects one at a time; and groups in doubt."""
    before, after = objects(old), objects(new)
    sums, doubtful = defaultdict(Counter), set()
    for key in {*before, *after}:
        was, now = before.get(key), after.get(key)
        sizes = sizes_of(was, now)
        old_size, new_size = sizes or (0, 0)
        sums[group((now or was)[0])].update(unmeasured=int(sizes is None))
        doubtful |= {group(r[0]) for r in (was, now) if r and (not sizes or in_doubt(r[0]))}
        if was:
            sums[group(was[0])].update(old_inodes=1, old_bytes=old_size)
        if now:
            sums[group(now[0])].update(new_inodes=1, new_bytes=new_size)
        if not was:
            sums[group(now[0])].update(created=1, created_bytes=new_size)
        elif not now:
            sums[group(was[0])].update(deleted=1, deleted_bytes=old_size)
        else:
            here, there = group(now[0]), group(was[0])
            sums[here]["grown_bytes"] += new_size - old_size
            if differ(was[0], now[0], "modify_time", "size"):
                sums[here].update(modified=1, modified_bytes=new_size)
            if differ(was[0], now[0], "access_time"):
                sums[here].update(accessed=1, accessed_bytes=new_size)
            gone = {r["path"] for r in was} - {r["path"] for r in now}
            came = {r["path"] for r in now} - {r["path"] for r in was}
            if gone and came:
                sums[here].update(renamed=1, renamed_bytes=new_size)
            if here != there:
                sums[here].update(moved_in=1, moved_in_bytes=old_size)
                sums[there].update(moved_out=1, moved_out_bytes=old_size)
                doubtful |= {group(r) for rows in (was, now) for r in rows if there in doubtful}
    return sums, doubtful


def one_scan_alone_says(names, old, new):
    """Whether one scan says of some object which group it is in, and the other of none."""
    sides = [[one[0] for one in objects(rows).values()] for rows in (old, new)]
    says = [
        all(any(r[COLUMN[name]] is not None for r in side) for name in names if name != "top")
        for side in sides
        if side
    ]
    return len(set(says)) == 2


def built(rows, make):
    fixed = ("path", "inode", "size")
    return [
        make(r["path"], r["inode"], r["size"], **{k: v for k, v in r.items() if k not in fixed})
        for r in rows
    ]


@pytest.mark.slow
@given(old=ROWS, new=ROWS)
def test_changes_equal_those_counted_one_by_one(old, new):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "LEAST_PAIRED_ROWS", 3)  # several passes
        data = dataset(Path(folder), built(old, row), built(new, new_row))
        for by in BYS:
            found = data.rows("gpfs.change", by=by, root="/d", top_depth=1)

            wanted, doubtful = expected(old, new, group_of(by))
            names = [name for name in by.split(",") if name]
            if not by:  # all together is a row even of nothing
                wanted.setdefault((), Counter())
            if one_scan_alone_says(names, old, new):
                assert {r["growth_bytes"] for r in found} <= {None}
                continue
            assert {tuple(r[n] for n in names) for r in found} == set(wanted)
            for r in found:
                group = tuple(r[n] for n in names)
                for name in pairs.SUMS:
                    same = is_or_unknown(r[name], wanted[group][name], group in doubtful)
                    assert same, (by, name)
                if None in (r["old_bytes"], r["new_bytes"]):
                    assert r["growth_bytes"] is None
                    continue
                # growth is what came, less what went, and what stayed grew by
                assert r["growth_bytes"] == r["new_bytes"] - r["old_bytes"] == (
                    (r["created_bytes"] or 0) - (r["deleted_bytes"] or 0)
                    + (r["grown_bytes"] or 0)
                    + (r["moved_in_bytes"] or 0) - (r["moved_out_bytes"] or 0)
                )  # fmt: skip
            growth = [r["growth_bytes"] for r in found if r["growth_bytes"] is not None]
            assert growth == sorted(growth, reverse=True)
            if by == "top":
                # gpfs.churn says the same of the same directories
                churn = {r["top"]: r for r in data.rows("gpfs.churn", root="/d")}
                said = {r["top"]: {name: r[name] for name in churn[r["top"]]} for r in found}
                assert said == churn
