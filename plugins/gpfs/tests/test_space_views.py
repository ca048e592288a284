"""What all views of this distribution promise: columns as declared, and unknown is not zero."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from scripts import run_script

import harvest
from harvest_gpfs.space.plugin import harvest_views
from harvest_testing import faults_of_columns, faults_of_unknown
from harvest_testing.datasets import AlteredDataset

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "gpfs-scan"
MAY_LACK = (
    "generation", "kind", "size_bytes", "allocated_bytes", "access_time", "modify_time", "uid",
    "pool", "fileset", "nlink",
)  # fmt: skip
KEYS = {
    "gpfs.candidates": ("path",),
    "gpfs.candidate_owners": ("uid",),
    "gpfs.forecast": ("uid",),
    "gpfs.quotas": ("kind", "name"),
}
"""What a row of each view is about."""
SETTINGS: dict[str, dict[str, object]] = {
    "gpfs.candidates": {"age": "180d", "exclude": ("*.h5",)},
    "gpfs.candidate_owners": {"age": "180d", "exclude": ("*.h5",)},
    "gpfs.forecast": {"by": ("uid",), "capacity": "1G"},
    "gpfs.quotas": {"quotas": Path(__file__).with_name("quotas.csv")},
}
GROUPS = (
    "uid,gid,user,group,top,fileset,pool,kind,extension,size_bin,access_age,modify_age,cold,"
    "future,small"
)
MORE = {"gpfs.forecast": [{"by": GROUPS}]}
"""Further settings, for columns that come with them."""


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> harvest.Dataset:
    """The two scans of the example."""
    folder = tmp_path_factory.mktemp("scans")
    run_script(EXAMPLE / "make_scan.py", folder)
    harvest.run(f"gpfs:{folder / 'scans'}", f"parquet:{folder / 'out'}")
    return harvest.open(folder / "out")


def test_every_view_is_looked_at():
    assert set(KEYS) == {view.name for view in harvest_views()}


@pytest.mark.parametrize("view", KEYS)
def test_a_view_declares_the_columns_that_it_gives_and_no_others(example, view):
    plain = [] if view == "gpfs.quotas" else [{}]
    assert faults_of_columns(example, view, [*plain, SETTINGS[view], *MORE.get(view, [])]) == []


@pytest.mark.parametrize("view", ["gpfs.candidates", "gpfs.candidate_owners"])
def test_no_scan_is_an_error_that_says_so(example, view):
    empty = AlteredDataset(example, lambda frame: frame.head(0))
    with pytest.raises(harvest.HarvestError, match="harvest a policy list first"):
        empty.view(view, now="2026-02-11").collect()


@pytest.mark.slow
@pytest.mark.parametrize("scans", ["both", "later"])
@pytest.mark.parametrize("column", MAY_LACK)
def test_no_count_becomes_zero(example, column, scans):
    later = pl.col("scan_time") > pl.col("scan_time").min() + timedelta(days=1)
    lacks = pl.lit(value=True) if scans == "both" else later
    kept = pl.when(~lacks).then(pl.col(column)).alias(column)
    altered = AlteredDataset(example, lambda frame: frame.with_columns(kept))

    faults = [
        fault
        for view, key in KEYS.items()
        for fault in faults_of_unknown(example, altered, view, key, **SETTINGS[view])
    ]

    assert faults == []
