"""What views declare about their columns, and what they claim, against plain Python."""

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_rows import NOW, dataset, row
from scripts import run_script

import harvest
from harvest_gpfs.aggregation import METRICS
from harvest_gpfs.plugin import VIEWS
from harvest_gpfs.space.plugin import harvest_views
from harvest_testing import faults_of_columns

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "gpfs-scan"
KEYS = (
    "uid,gid,user,group,top,fileset,pool,kind,extension,size_bin,access_age,modify_age,cold,"
    "future,small"
)
ALL_METRICS = {"metrics": ",".join(METRICS)}


def keys_without(*names: str) -> dict[str, str]:
    return {"by": ",".join(key for key in KEYS.split(",") if key not in names)}


WAYS: dict[str, list[dict[str, str]]] = {
    "gpfs.usage": [{}, {"by": ""}, {"by": KEYS, **ALL_METRICS}],
    "gpfs.directories": [{}, {"depth": "1", **ALL_METRICS}],
    "gpfs.growth": [{}, {"by": KEYS}, {"by": "directory"}],
    "gpfs.churn": [{}],
    "gpfs.change": [{}, {"by": ""}, {"by": "user,group,fileset,pool,top"}],
    "gpfs.owners": [{}],
    "gpfs.policy": [{}, keys_without("access_age", "modify_age")],
    "gpfs.ages": [{}],
    "gpfs.sizes": [{}],
    "gpfs.cold": [{}, {"by": ""}, keys_without("cold")],
    "gpfs.heat": [{}, {"by": KEYS}],
    "gpfs.extensions": [{}],
    "gpfs.small": [{}, {"by": ""}, keys_without("small")],
    "gpfs.largest": [{}],
    "gpfs.oldest": [{"by": by} for by in ("modify", "access", "change", "create")],
    "gpfs.duplicates": [{"above": "1K"}],
    "gpfs.crowded": [{"least": "5"}],
    "gpfs.odd_names": [{}],
    "gpfs.scan_quality": [{}],
    "gpfs.candidates": [{"age": "180d", "exclude": "*.h5"}],
    "gpfs.candidate_owners": [{"age": "180d", "exclude": "*.h5"}],
    "gpfs.forecast": [{}, {"by": KEYS, "capacity": "1G"}],
    "gpfs.quotas": [{"quotas": str(Path(__file__).with_name("quotas.csv"))}],
}
"""Settings of each view that together give all of its columns."""


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> harvest.Dataset:
    """The two scans of the example."""
    folder = tmp_path_factory.mktemp("scans")
    run_script(EXAMPLE / "make_scan.py", folder)
    harvest.run(f"gpfs:{folder / 'scans'}", f"parquet:{folder / 'out'}")
    return harvest.open(folder / "out")


def test_the_columns_of_every_view_are_looked_at():
    assert set(WAYS) == {view.name for view in (*VIEWS, *harvest_views())}


@pytest.mark.parametrize("view", WAYS)
def test_a_view_declares_the_columns_that_it_gives_and_no_others(example, view):
    assert faults_of_columns(example, view, WAYS[view]) == []


DAY = timedelta(days=1)
FILES = st.lists(
    st.fixed_dictionaries(
        {
            "path": st.sampled_from([f"/fs/{top}/{name}" for top in "abc" for name in "pqrs"]),
            "inode": st.integers(1, 9),
            "kind": st.sampled_from(["file", "file", "symlink", "directory"]),
            "size_bytes": st.one_of(st.none(), st.sampled_from([0, 1, 65_535, 65_536, 10**7])),
            "uid": st.sampled_from([None, 7, 8]),
            "days": st.sampled_from([-3, 0, 100, 400]),
        }
    ),
    min_size=1,
    unique_by=(lambda f: f["path"], lambda f: f["inode"]),
)


def listed(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a scan, each file accessed and modified so many days before 2026-01-11."""
    rows = []
    for file in files:
        time = NOW - file["days"] * DAY
        said = {name: file[name] for name in ("kind", "uid")}
        times = {"access_time": time, "modify_time": time}
        rows.append(row(file["path"], file["inode"], file["size_bytes"], **said, **times))
    return rows


def known_sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known or not values else None


@pytest.mark.slow
@given(FILES)
def test_the_sums_and_shares_of_owners_and_groups_are_what_their_docs_say(files):
    with tempfile.TemporaryDirectory() as folder:
        data = dataset(Path(folder), listed(files))
        owners, small = data.rows("gpfs.owners"), data.rows("gpfs.small", by="uid")
        cold = data.rows("gpfs.cold", by="uid")

    sizes = [file["size_bytes"] or 0 for file in files]
    plain = [file for file in files if file["kind"] != "directory"]
    for found in owners:
        mine = [file for file in files if file["uid"] == found["uid"]]
        others = [file for file in mine if file["kind"] != "directory"]
        measured = [file for file in others if file["size_bytes"] is not None]
        little = [file for file in measured if file["size_bytes"] < 65_536]
        assert found["size_bytes"] == known_sum([file["size_bytes"] for file in mine])
        assert found["data_bytes"] == known_sum([file["size_bytes"] for file in others])
        assert found["all_bytes"] == known_sum([file["size_bytes"] for file in files])
        assert found["all_data_inodes"] == len(plain)
        if found["share"] is not None:
            assert found["share"] * sum(sizes) == pytest.approx(found["size_bytes"])
        # where none of the known is small, and others are not known, none is known to be
        counted = len(little) if little or len(measured) == len(others) else None
        assert found["small_inodes"] == counted
        assert found["small_known_inodes"] == (len(measured) or None)
        assert found["future_inodes"] == sum(file["days"] < -1 for file in others)
        assert (found["small_share"] is None) == (not measured or found["small_inodes"] is None)
        held = [one["data_bytes"] for one in owners]
        whole = sum(size or 0 for size in held)
        # an owner of none, and one of whose sizes nothing is known, do not make 0
        assert found["all_data_bytes"] == (whole if whole or None not in held else None)
    assert sum(found["share"] or 0 for found in owners) == pytest.approx(min(sum(sizes), 1))

    for found in small:
        mine = [file for file in plain if file["uid"] == found["uid"]]
        assert found["inodes"] == len(mine)
        measured = [file for file in mine if file["size_bytes"] is not None]
        assert found["known_inodes"] == (len(measured) or None)
        if found["small_share"] is not None:
            made = found["small_share"] * len(measured)
            assert made == pytest.approx(found["small_inodes"])
    for found in cold:
        mine = [file for file in plain if file["uid"] == found["uid"]]
        old = [file["size_bytes"] for file in mine if file["days"] > 365]
        assert found["cold_inodes"] == len(old)
        assert found["cold_size_bytes"] == known_sum(old)
        assert found["untimed"] == 0
        if found["size_bytes"]:
            share = (found["cold_size_bytes"] or 0) / found["size_bytes"]
            assert (found["cold_share"] or 0) == pytest.approx(share)
