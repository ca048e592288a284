"""Rules on scans, each with rows that make it speak and rows that just do not."""

from datetime import timedelta

import polars as pl
import pytest
from scan_rows import NOW, harvested, row
from spoken import once

from harvest_gpfs import rules
from harvest_testing import judge

RULES = [rule for rule in rules.RULES if rule.view != "notes"]
"""Rules on scans; the others are about what was noted of their inputs."""

BY_NAME = {rule.name: rule for rule in RULES}
GIB = 2**30
MUCH = "passed the limits: 50 % and 1 GiB, or 1,024 GiB."
MONTH = "between 2026-01-11 and 2026-02-11"


def spoken(name: str, rows: dict[str, list], **thresholds: float) -> list[tuple[str, str, str]]:
    """Severity, headline and detail of what a rule finds in rows of its view."""
    columns = BY_NAME[name].columns
    length = max(map(len, rows.values()))
    full = {column: rows.get(column, [None] * length) for column in (*columns, *rows)}
    found = judge(BY_NAME[name], pl.DataFrame(full), **thresholds)
    return [(f.finding.severity, f.finding.headline, f.finding.detail) for f in found]


COLD = {
    "uid": [1, 2, 3], "user": ["ada", "bob", None], "cold_size_bytes": [15 * GIB, 5 * GIB, 0],
    "cold_share": [0.5, 0.25, 0.0], "cold_inodes": [9, 9, 0],
    "all_cold_known_bytes": [100 * GIB] * 3, "all_cold_known_inodes": [18] * 3,
    "all_data_inodes": [18] * 3, "cold_days": [180] * 3,
}  # fmt: skip


def test_cold_data_is_said_from_a_share_of_all_bytes_with_who_has_most():
    headline = "20 % of all data unused for 180 days: 20.0 GiB"
    detail = (
        "20 of 100 GiB were neither accessed nor modified. User ada has the most: 15.0 GiB, 50 % "
        "of their data."
    )

    assert spoken("gpfs.cold_data", COLD) == [("medium", headline, detail)]
    assert spoken("gpfs.cold_data", COLD, share=0.201) == []
    assert spoken("gpfs.cold_data", COLD, high=0.2) == [("high", headline, detail)]
    assert spoken("gpfs.cold_data", COLD | {"cold_size_bytes": [0, 0, 0]}, share=0) == []


def test_cold_data_are_a_share_of_what_is_known_to_be_cold_or_not():
    """Of half of the objects the list does not say it: the finding is of a part."""
    rows = COLD | {"all_data_inodes": [36] * 3}

    (found,) = judge(BY_NAME["gpfs.cold_data"], pl.DataFrame(rows))

    assert found.finding.detail.startswith("20 of 100 GiB were neither accessed nor modified.")
    assert found.certainty == ("part",)


def test_small_files_are_said_from_a_share_and_a_number_with_what_they_occupy():
    rows = {
        "uid": [1, None], "user": ["ada", None], "small_inodes": [40_000, 60_000],
        "small_share": [0.4, 0.6], "small_size_bytes": [GIB, GIB],
        "small_allocated_bytes": [GIB, 3 * GIB], "all_small_known_inodes": [200_000] * 2,
        "all_data_inodes": [200_000] * 2, "small_below": [8192] * 2,
    }  # fmt: skip
    headline = "50 % of all files are below 8.00 KiB: 100,000 files"
    detail = (
        "100,000 of 200,000 files hold 2 and occupy 4 GiB. An unrecorded owner has the most: "
        "60,000."
    )

    assert spoken("gpfs.small_files", rows) == [("medium", headline, detail)]
    assert spoken("gpfs.small_files", rows, files=100_001) == []
    assert spoken("gpfs.small_files", rows, share=0.51) == []
    (unknown,) = spoken("gpfs.small_files", rows | {"small_allocated_bytes": [None, None]})
    assert "files hold 2.00 GiB. An unrecorded owner" in unknown[2]


def test_one_owner_of_more_than_all_others_together_is_named():
    rows = {
        "uid": [1, 2], "user": ["LabAda", "bob"], "share": [0.51, 0.49],
        "size_bytes": [51 * GIB, 49 * GIB], "inodes": [1, 2000], "all_bytes": [100 * GIB] * 2,
    }  # fmt: skip

    assert spoken("gpfs.one_owner", rows) == once(
        "low",
        "User LabAda owns 51 % of all data: 51.0 GiB",
        "User LabAda owns 1 object with 51 of 100 GiB.",
    )
    assert spoken("gpfs.one_owner", rows, share=0.51) == []
    assert len(spoken("gpfs.one_owner", rows, share=0.3)) == 2
    alone = {name: values[:1] for name, values in rows.items()}
    assert spoken("gpfs.one_owner", alone) == []


@pytest.mark.parametrize(("size", "severity"), [(GIB, "medium"), (GIB - 1, "low")])
def test_owners_that_passwd_lacks_are_counted(size, severity):
    rows = {
        "uid": [1, 7, 8], "unknown": [False, True, None], "size_bytes": [99 * GIB, size, 0],
        "inodes": [5, 1200, 0], "share": [0.99, 0.01, 0.0], "all_bytes": [100 * GIB] * 3,
    }  # fmt: skip

    ((said, headline, detail),) = spoken("gpfs.unknown_owners", rows)

    assert said == severity
    assert headline.startswith("1 of 2 owners is not in the passwd file: 1")
    assert detail.startswith("It owns 1,200 objects, ")
    assert "% of all data. Uid 7 has the most: " in detail
    assert spoken("gpfs.unknown_owners", rows | {"unknown": [False, False, None]}) == []


def test_times_after_the_scan_are_counted():
    rows = {
        "uid": [1, 2], "user": ["ada", "bob"], "future_inodes": [1, 0],
        "all_future_known_inodes": [1000] * 2, "all_data_inodes": [1000] * 2,
    }  # fmt: skip

    assert spoken("gpfs.future_times", rows) == once(
        "low",
        "1 of 1,000 objects has a time after the scan",
        "Access or modification is more than a day after the scan, so age policies skip them. "
        "User ada has the most: 1.",
    )
    assert spoken("gpfs.future_times", rows | {"future_inodes": [None, None]}) == []


def test_possible_copies_are_a_guess_and_called_so():
    rows = {
        "name": ["model.pt", "x"], "copies": [3, 2], "size_bytes": [4 * GIB, GIB],
        "extra_bytes": [8 * GIB, GIB], "all_names": [1204] * 2, "all_extra_bytes": [10 * GIB] * 2,
        "extra_share": [0.1] * 2,
    }  # fmt: skip
    headline = "10.0 GiB may be copies: 1,204 file names in several directories"
    detail = (
        "This is 10 % of all data, by name and size only. The largest is model.pt: 3 files of "
        "4.00 GiB."
    )

    assert spoken("gpfs.duplicates", rows) == [("medium", headline, detail)]
    assert spoken("gpfs.duplicates", rows, share=0.11) == [("low", headline, detail)]
    assert spoken("gpfs.duplicates", rows, extra=1.1e10) == []


def test_directories_of_a_million_entries_are_counted_and_the_largest_is_named():
    rows = {
        "directory": ["/fs/a", "/fs/b", "/fs/c"], "entries": [1_000_000, 2_500_000, 999_999],
    }  # fmt: skip

    assert spoken("gpfs.crowded_directories", rows) == once(
        "medium",
        "Directory /fs/b has 2,500,000 entries",
        "2 directories have 1,000,000 entries or more. The largest is /fs/b.",
    )
    assert spoken("gpfs.crowded_directories", rows, entries=2_500_001) == []


def grown(name, growth, old, state="kept"):
    return {
        name: growth and [f"x{n}" for n in range(len(growth))],
        "growth_bytes": growth,
        "growth_percent": [g / o * 100 if o else None for g, o in zip(growth, old, strict=True)],
        "old_bytes": old,
        "new_bytes": [o + g for g, o in zip(growth, old, strict=True)],
        "state": [state] * len(growth),
        "old_scan": ["2026-01-11T00:00:00Z"] * len(growth),
        "new_scan": ["2026-02-11T00:00:00Z"] * len(growth),
    }


def test_growth_counts_by_bytes_or_by_percent_of_what_is_not_little():
    # a tebibyte; half of it all over again; a little less than half; a lot of very little
    growth = [2**40, 5 * 10**9, 49 * 10**8, 10**8]
    rows = grown("user", growth, [10**14, 10**10, 10**10, 10**6])

    assert spoken("gpfs.owners_grew", rows) == once(
        "high",
        "2 of 4 users grew sharply, by up to 1.00 TiB",
        f"User x0 grew to 91.9 TiB (1.1 %) {MONTH}. 2 of 4 users {MUCH}",
    )
    assert spoken("gpfs.owners_grew", grown("user", growth[2:], [10**10, 10**6])) == []
    ((severity, headline, _),) = spoken("gpfs.owners_grew", rows, growth=1.2e12)
    assert (severity, headline) == ("medium", "User x1 grew by 4.66 GiB (50 %)")


def test_who_grew_much_is_not_called_who_grew_most():
    """The finding is on growth by half; the user of most bytes grew by less than that."""
    rows = grown("user", [7 * GIB, 5 * GIB, 4 * GIB], [60 * GIB, 6 * GIB, 5 * GIB])

    ((_, headline, detail),) = spoken("gpfs.owners_grew", rows)

    assert headline == "2 of 3 users grew sharply, by up to 5.00 GiB"
    assert detail == f"User x1 grew to 11.0 GiB (83 %) {MONTH}. 2 of 3 users {MUCH}"


def test_growth_that_leaves_objects_out_is_of_a_part():
    rows = grown("user", [5 * GIB], [GIB]) | {"unmeasured": [3]}
    full = {c: rows.get(c, [None]) for c in BY_NAME["gpfs.owners_grew"].columns}

    (found,) = judge(BY_NAME["gpfs.owners_grew"], pl.DataFrame(full))

    assert found.certainty == ("part",)


def test_a_new_directory_counts_by_its_bytes():
    assert spoken("gpfs.directories_grew", grown("top", [GIB], [0], "new")) == once(
        "medium",
        "Directory x0 grew by 1.00 GiB (new)",
        f"Directory x0 grew to 1.00 GiB (new) {MONTH}. 1 of 1 directory {MUCH}",
    )
    assert spoken("gpfs.directories_grew", grown("top", [GIB - 1], [0], "new")) == []


MANY = 9_999_999_999
LONG = {
    "user": "u" * 300, "top": f"/{'d' * 300}", "directory": f"/{'d' * 300}", "name": "n" * 300,
    "uid": MANY, "share": 0.9991, "cold_share": 0.5, "extra_share": 0.5, "growth_percent": 1e15,
    "all_bytes": 2**63 - 1, "size_bytes": 2**62, "unmeasured": 0, "state": "kept", "unknown": True,
    "cold_size_bytes": 2**62, "all_cold_known_bytes": 2**62, "all_extra_bytes": 2**62,
    "growth_bytes": 2**62, "old_bytes": 1, "new_bytes": 2**62,
    "old_scan": "2026-01-11T00:00:00Z", "new_scan": "2026-02-11T00:00:00Z",
}  # fmt: skip
"""The longest names, and large numbers; all others are ``MANY``."""


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_headlines_are_short_for_the_longest_names_and_numbers(rule, rows):
    """What a headline shortens stands in full in the detail."""
    row = {name: LONG.get(name, MANY) for name in (*rule.columns, "unknown", "share")}

    found = rule.judge(
        pl.DataFrame([row] * rows), MANY, **{n: t.value for n, t in rule.thresholds.items()}
    )

    for finding in found:
        assert len(finding.headline) <= 80
        assert not finding.headline.endswith(".")
        if "…" in finding.headline:
            assert any(
                str(row.get(name)) in finding.detail for name in ("user", "top", "directory")
            )


def test_cold_data_are_said_with_the_days_that_were_asked_for(data):
    (found,) = data.findings(["gpfs.cold_data"], cold="90d").found

    assert "unused for 90 days" in found.finding.headline


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two scans: ada's data are cold, bob's grew from 1 to 4 GiB, and eve left."""
    month = {"scan_time": NOW + timedelta(days=31), "origin": "/lists/b.list"}
    old = {"access_time": NOW - timedelta(days=500), "modify_time": NOW - timedelta(days=500)}
    first = [
        row("/fs/projects/a/x", 1, 3 * GIB, uid=1, **old),
        row("/fs/projects/b/y", 2, GIB, uid=2),
        row("/fs/home/e/z", 3, GIB, uid=3),
    ]
    second = [one | month for one in first]
    second += [row(f"/fs/projects/b/new{n}", 10 + n, GIB, uid=2, **month) for n in range(3)]
    return harvested(tmp_path_factory.mktemp("rules"), first, second)


@pytest.fixture(scope="module")
def passwd(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "passwd"
    path.write_text("ada:x:1:\nbob:x:2:\n")
    return str(path)


def test_what_is_known_of_a_dataset_is_found(data, passwd):
    verdict = data.findings([rule.name for rule in RULES], passwd=passwd)

    found = {f.rule.name: (f.finding.severity, f.finding.headline) for f in verdict.found}
    assert found == {
        "gpfs.cold_data": ("medium", "38 % of all data unused for 365 days: 3.00 GiB"),
        "gpfs.unknown_owners": ("medium", "1 of 3 owners is not in the passwd file: 1.00 GiB"),
        "gpfs.owners_grew": ("medium", "User bob grew by 3.00 GiB (300 %)"),
        "gpfs.directories_grew": ("medium", "Directory /fs/projects/b grew by 3.00 GiB (300 %)"),
    }
    details = {f.rule.name: f.finding.detail for f in verdict.found}
    assert details["gpfs.unknown_owners"] == (
        "It owns 1 object, 12 % of all data. Uid 3 has the most: 1.00 GiB."
    )
    assert verdict.unjudged == ()
    for f in verdict.found:
        shown = data.view(f.evidence.view, **f.evidence.settings)
        assert shown.filter(pl.sql_expr(f.evidence.where)).collect().height == f.evidence.rows


def test_pages_begin_with_the_findings_on_what_they_show(data, passwd):
    def rules(report):
        return {found.rule.name for found in report.verdict.found}

    change = data.report("gpfs.change", over="30d", passwd=passwd)
    summary = data.report("gpfs.summary", passwd=passwd)

    assert rules(change) == {
        "gpfs.cold_data", "gpfs.unknown_owners", "gpfs.owners_grew", "gpfs.directories_grew",
    }  # fmt: skip
    assert rules(summary) == {"gpfs.cold_data", "gpfs.unknown_owners"}


def test_parts_of_a_scan_that_say_no_time_are_judged_together(tmp_path):
    parts = [
        [row(f"/fs/{name}", n, 5, uid=n, scan_time=None, origin=f"/lists/{name}.list")]
        for n, name in enumerate("ab", 1)
    ]
    data = harvested(tmp_path, *parts)

    nothing = data.findings([rule.name for rule in RULES])
    assert any("scan=all takes them for parts of one scan" in why for _, why in nothing.unjudged)
    verdict = data.findings([rule.name for rule in RULES], scan="all")

    # without a time nothing is cold or in the future, without a passwd file nobody unknown
    unknown = {"gpfs.cold_data", "gpfs.future_times", "gpfs.unknown_owners"}
    assert {rule for rule, _ in verdict.unjudged} == unknown
    assert set(verdict.passed) == {rule.name for rule in RULES} - unknown
