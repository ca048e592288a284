"""What a list does not say is not known, and never 0: each column is taken away in turn.

The lists are the same but for one column, of both scans or of the later one alone.  Whatever a view
counted may then be less, or not known; it may not become 0.  No verdict may get worse.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from scan_rows import NOW, harvested, row

import harvest
from harvest_gpfs import rules
from harvest_gpfs.plugin import VIEWS
from harvest_gpfs.space.plugin import harvest_views
from harvest_testing import faults_of_unknown
from harvest_testing.datasets import AlteredDataset

RULES = [rule for rule in rules.RULES if rule.view != "notes"]
"""Rules on scans; the others are about what was noted of their inputs."""

GIB: Final = 2**30
LATER: Final = NOW + timedelta(days=30)
# what a list may lack; path_raw is null where path says all, and a scan without time is another
MAY_LACK: Final = (
    "generation", "kind", "size_bytes", "allocated_bytes", "access_time", "modify_time",
    "change_time", "create_time", "uid", "gid", "heat", "pool", "fileset", "nlink",
)  # fmt: skip
KEYS: Final = {
    "gpfs.usage": ("uid", "scan"),
    "gpfs.directories": ("directory", "scan"),
    "gpfs.growth": ("scan",),
    "gpfs.churn": ("top",),
    "gpfs.change": ("user",),
    "gpfs.owners": ("uid",),
    "gpfs.policy": ("days", "time"),
    "gpfs.ages": ("time", "age"),
    "gpfs.sizes": ("size",),
    "gpfs.cold": ("top",),
    "gpfs.small": ("top",),
    "gpfs.extensions": ("extension",),
    "gpfs.heat": ("pool",),
    "gpfs.crowded": ("directory",),
    "gpfs.duplicates": ("name",),
    "gpfs.scan_quality": ("check",),
    "gpfs.largest": ("path",),
    "gpfs.oldest": ("path",),
    "gpfs.odd_names": ("path",),
    "gpfs.candidates": ("path",),
    "gpfs.candidate_owners": ("uid",),
    "gpfs.forecast": ("uid",),
    "gpfs.quotas": ("kind", "name"),
}
"""What a row of each view is about."""

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "gpfs.usage": {"metrics": "paths,inodes,files,directories,symlinks,others,hard_links,"
                   "size_bytes,allocated_bytes,with_heat,warm,warm_bytes"},
    "gpfs.crowded": {"least": 2},
    "gpfs.duplicates": {"above": "1K"},
    "gpfs.candidates": {"age": "180d", "exclude": ("*.txt",)},
    "gpfs.candidate_owners": {"age": "180d", "exclude": ("*.txt",)},
    "gpfs.forecast": {"by": ("uid",), "capacity": "1G"},
    "gpfs.quotas": {"quotas": Path(__file__).with_name("quotas.csv")},
}  # fmt: skip


LIMITS: Final[dict[str, dict[str, Any]]] = {
    "gpfs.small_files": {"files": 1, "share": 0.3},
    "gpfs.duplicates": {"extra": 1},
    "gpfs.crowded_directories": {"entries": 2},
}


def rows_of(when: Any, *, grown: int = 1) -> list[dict[str, Any]]:
    """Two users' files, old and new, small and large, in two pools; a directory, a hard link."""
    old = {"access_time": NOW - timedelta(days=800), "modify_time": NOW - timedelta(days=900)}
    ahead = {"access_time": LATER + timedelta(days=9), "modify_time": LATER + timedelta(days=9)}
    scan = {"scan_time": when, "origin": f"/lists/{when:%Y%m%d}.list"}
    heat = {"heat": 0.5, "fileset": "home"}
    return [
        one | scan | {"gid": one["uid"] + 100}
        for one in (
            row("/fs/a/dir", 1, 4096, kind="directory", uid=1, nlink=2, heat=0.0),
            row("/fs/a/dir/old.dat", 2, 3 * GIB, uid=1, **old, **heat),
            row("/fs/a/dir/new.dat", 3, GIB, uid=1, **heat),
            row("/fs/a/dir/x.txt", 4, 10, uid=1, pool="fast", nlink=2, **heat),
            row("/fs/a/link.txt", 4, 10, uid=1, pool="fast", nlink=2, **heat),
            row("/fs/a/far.dat", 10, 10, uid=1, nlink=3, **heat),
            row("/fs/b/old.dat", 5, 3 * GIB, uid=2, **old, **heat),
            row("/fs/b/ahead.txt", 6, 10, uid=2, **ahead, **heat),
            row("/fs/b/grows.dat", 7, grown * 2 * GIB, uid=2, heat=0.5, fileset="work",
                modify_time=when - timedelta(days=1)),
            row("/fs/b/sparse.dat", 8, GIB, uid=2, allocated_bytes=0, **heat),
            row("/fs/b/link", 9, 10, kind="symlink", uid=2, **heat),
        )
    ]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> harvest.Dataset:
    first, second = rows_of(NOW), rows_of(LATER, grown=3)
    # one came, one went
    second = [one for one in second if one["inode"] != 3]
    came = row("/fs/b/came.dat", 30, GIB, uid=2, gid=102, heat=0.5, fileset="work",
               scan_time=LATER, origin=second[0]["origin"])  # fmt: skip
    return harvested(tmp_path_factory.mktemp("whole"), first, [*second, came])


@pytest.fixture(scope="module")
def passwd(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("names") / "passwd"
    path.write_text("ada:x:1:\n")
    return str(path)


def without(whole: harvest.Dataset, column: str, scans: str) -> harvest.Dataset:
    """The dataset as if its lists, or that of the later scan, lacked a column."""
    lacks = pl.lit(value=True) if scans == "both" else pl.col("scan_time") == LATER
    kept = pl.when(~lacks).then(pl.col(column)).alias(column)
    return AlteredDataset(whole, lambda frame: frame.with_columns(kept))


def test_every_view_is_looked_at():
    assert set(KEYS) == {view.name for view in (*VIEWS, *harvest_views())}


def test_rules_have_something_to_say(whole, passwd):
    """Were there no findings, none could get worse or be lost."""
    asked = whole.findings([rule.name for rule in RULES], thresholds=LIMITS, passwd=passwd, least=2)

    assert {found.rule.name for found in asked.found} >= {rule.name for rule in RULES} - {
        "gpfs.one_owner"
    }


@pytest.mark.slow
@pytest.mark.parametrize("scans", ["both", "later"])
@pytest.mark.parametrize("column", MAY_LACK)
def test_no_count_becomes_zero_and_no_verdict_worse(whole, passwd, column, scans):
    altered = without(whole, column, scans)
    settings = SETTINGS | {"gpfs.owners": {"passwd": passwd}}
    faults = [
        fault
        for view, key in KEYS.items()
        for fault in faults_of_unknown(
            whole, altered, view, key, thresholds=LIMITS, **settings.get(view, {})
        )
        # how many objects have a heat in the list is 0 where none has
        if "gpfs.heat.with_heat" not in fault and "gpfs.usage.with_heat" not in fault
    ]
    assert faults == []


@pytest.mark.slow
@pytest.mark.parametrize("scans", ["both", "later"])
@pytest.mark.parametrize("column", MAY_LACK)
@pytest.mark.parametrize("report", ["gpfs.summary", "gpfs.change"])
def test_reports_of_lists_that_lack_a_column_can_be_shown(whole, report, column, scans):
    found = without(whole, column, scans).report(report)

    assert "None" not in found.text()
    drawn = "<svg" in found.html() or "<img" in found.html()
    assert drawn == bool(found.plots)
