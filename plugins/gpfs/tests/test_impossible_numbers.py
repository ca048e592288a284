"""Sizes that cannot be, or whose sum no int64 holds: sums are exact, or null, and never wrong."""

from collections import defaultdict
from datetime import timedelta
from math import inf, nan

import pytest
from scan_rows import NOW, dataset, harvested, row

MOST = 2**63 - 1
NEXT = NOW + timedelta(days=1)


def scan(when=NOW):
    """User 1000 has two files of the largest size, user 7 one below zero."""
    return [
        row("/d/a/x", 1, MOST, allocated_bytes=4096, scan_time=when, heat=nan),
        row("/d/a/y", 2, MOST, allocated_bytes=4096, scan_time=when, heat=inf),
        row("/d/b/z", 3, -5, uid=7, allocated_bytes=-8, scan_time=when, heat=-1.0),
        row("/d/b/w", 4, 10, uid=7, scan_time=when, heat=0.5),
        row("/d/b/v", 5, 20, uid=7, scan_time=when, heat=0.25),
    ]


def sums(key) -> dict:
    """The sum of the sizes that can be, by plain Python; None where no int64 holds it."""
    total = defaultdict(int)
    for r in scan():
        total[key(r)] += max(r["size_bytes"], 0)
    return {group: value if value <= MOST else None for group, value in total.items()}


def by_uid(r):
    return r["uid"]


def by_directory(r):
    return r["path"].rsplit("/", 1)[0]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return dataset(tmp_path_factory.mktemp("one"), scan())


@pytest.mark.parametrize(
    ("view", "settings", "name", "key"),
    [
        ("gpfs.usage", {"by": "uid"}, "uid", by_uid),
        ("gpfs.usage", {"by": "top"}, "top", by_directory),
        ("gpfs.owners", {}, "uid", by_uid),
        ("gpfs.cold", {"by": "uid"}, "uid", by_uid),
        ("gpfs.heat", {"by": "uid"}, "uid", by_uid),
        ("gpfs.crowded", {"least": "1"}, "directory", by_directory),
    ],
)
def test_sums_are_exact_or_null(one, view, settings, name, key):
    found = {r[name]: r["size_bytes"] for r in one.rows(view, **settings)}

    assert found == sums(key)


def test_what_cannot_be_counts_as_unknown(one):
    metrics = "size_bytes,allocated_bytes,unknown_size,unknown_allocated,with_heat,hottest"
    found = {r.pop("uid"): r for r in one.rows("gpfs.usage", metrics=metrics)}

    seven, others = found[7], found[1000]
    assert (seven["size_bytes"], seven["unknown_size"], seven["unknown_allocated"]) == (30, 1, 1)
    assert (seven["with_heat"], seven["hottest"]) == (2, 0.5)
    assert (others["unknown_size"], others["with_heat"], others["hottest"]) == (0, 0, None)
    quality = {r["check"]: r["count"] for r in one.rows("gpfs.scan_quality")}
    assert (quality["sizes below zero"], quality["sizes of 1 EiB or more"]) == (1, 2)


def test_classes_leave_out_what_cannot_be(one):
    found = {r["size"]: (r["inodes"], r["size_bytes"]) for r in one.rows("gpfs.sizes")}

    assert found[None] == (1, None)
    assert found["empty"] == (0, 0)


def test_shares_are_of_the_exact_whole(one):
    shares = {r["uid"]: r["share"] for r in one.rows("gpfs.owners")}

    whole = 2 * MOST + 30
    assert shares == {1000: 2 * MOST / whole, 7: 30 / whole}


def test_changes_are_exact_although_the_sums_are_not_shown(tmp_path):
    two = dataset(tmp_path, scan(), scan(NEXT))
    found = {(r["uid"], r["scan_time"]): r for r in two.rows("gpfs.growth", by="uid")}

    assert {uid: found[uid, NEXT]["size_bytes"] for uid in (7, 1000)} == sums(by_uid)
    assert {uid: found[uid, NEXT]["size_change_bytes"] for uid in (7, 1000)} == {7: 0, 1000: 0}
    for view, name in (("gpfs.change", "user"), ("gpfs.churn", "top")):
        rows = two.rows(view)
        assert sorted(str(r["new_bytes"]) for r in rows) == ["30", "None"], name
        assert [r["grown_bytes"] for r in rows] == [0, 0]
        assert sum(r["unmeasured"] for r in rows) == 1


def test_copies_hold_more_than_an_int64(tmp_path):
    found = dataset(tmp_path, [row(f"/d/{n}/x", n, MOST, allocated_bytes=0) for n in range(1, 4)])
    (copies,) = found.rows("gpfs.duplicates")

    assert (copies["copies"], copies["extra_bytes"], copies["all_extra_bytes"]) == (3, None, None)
    assert copies["extra_share"] == 2 * MOST / (3 * MOST)


def test_an_owner_of_more_than_is_shown_is_found_by_the_exact_share(tmp_path):
    (found,) = harvested(tmp_path, scan()).findings(["gpfs.one_owner"]).found

    assert found.finding.headline == "User 1000 owns 100 % of all data"
    assert found.finding.detail == "User 1000 owns 2 objects."


@pytest.mark.slow
def test_the_report_the_forecast_and_candidates_can_be_made(tmp_path):
    data = harvested(tmp_path, scan(), scan(NEXT))

    assert data.report("gpfs.summary").sections
    forecast = data.view("gpfs.forecast", by=("uid",), measure="size").collect()
    assert dict(forecast.select("uid", "used_bytes").rows()) == sums(by_uid)
    found = data.view("gpfs.candidate_owners", age="1d", now="2026-02-01").collect()
    assert dict(found.select("uid", "size_bytes").rows()) == sums(by_uid)
