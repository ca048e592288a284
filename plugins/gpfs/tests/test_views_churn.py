"""What happened between two scans, against plain Python over dicts."""

from datetime import timedelta

from scan_rows import NOW, dataset, row

LATER = NOW + timedelta(days=7)


def new_row(*args, **more):
    return row(*args, scan_time=LATER, origin="/lists/b.list", **more)


def churned(tmp_path, old, new, **given):
    data = dataset(tmp_path, old, new)
    return {r.pop("top"): r for r in data.rows("gpfs.churn", **given)}


def test_lists_of_whole_seconds_are_compared_by_seconds(tmp_path):
    # given a scan with fractions of a second, and one without any
    exact = NOW - timedelta(days=3) + timedelta(microseconds=250_000)
    whole = exact.replace(microsecond=0)
    found = churned(
        tmp_path,
        [row("/d/a/x", 1, 1, modify_time=exact), row("/d/a/y", 2, 1, modify_time=exact)],
        [
            new_row("/d/a/x", 1, 1, modify_time=whole),
            new_row("/d/a/y", 2, 1, modify_time=whole + timedelta(seconds=1)),
        ],
    )
    # when they are compared, then a missing fraction is no change
    assert found["/d/a"]["modified"] == 1


def test_where_a_list_lacks_generations_inodes_are_compared(tmp_path):
    found = churned(
        tmp_path, [row("/d/a/x", 1, 1, generation=None)], [new_row("/d/a/x", 1, 1, generation=77)]
    )
    assert found["/d/a"]["created"] == found["/d/a"]["deleted"] == 0


def test_a_time_of_a_whole_second_is_as_exact_as_the_others_of_its_scan(tmp_path):
    # given scans with fractions of a second, and a file whose time has none by itself
    half = timedelta(milliseconds=500)
    found = churned(
        tmp_path,
        [row("/d/a/x", 1, 1, modify_time=NOW), row("/d/a/y", 2, 1, modify_time=NOW + half)],
        [
            new_row("/d/a/x", 1, 1, modify_time=NOW + half),
            new_row("/d/a/y", 2, 1, modify_time=NOW + half),
        ],
    )
    # when they are compared, then half a second is a change
    assert found["/d/a"]["modified"] == 1


def test_the_scans_can_be_named(tmp_path):
    # given scans of three days, when one is named, then the other is the nearest that it allows
    scans = [NOW + timedelta(days=days) for days in range(3)]
    parts = [[row(f"/d/a/{n}", n, 1, scan_time=time)] for n, time in enumerate(scans)]
    data = dataset(tmp_path, *parts)
    for given, days in (({}, (12, 13)), ({"old": "2026-01-11"}, (11, 13)),
                        ({"new": "2026-01-12"}, (11, 12))):  # fmt: skip
        (found,) = data.rows("gpfs.churn", **given)
        labels = tuple(f"2026-01-{day}T00:00:00Z" for day in days)
        assert (found["old_scan"], found["new_scan"]) == labels
