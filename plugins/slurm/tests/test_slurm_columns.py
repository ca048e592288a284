"""What views declare about their columns, and what they claim, against plain Python."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from scripts import run_script

import harvest
from harvest_slurm.plugin import harvest_views
from harvest_slurm.views.declared.common import FAILURE_KEYS, KEYS, RESOURCES, TREND_KEYS
from harvest_testing import faults_of_columns

ROOT = Path(__file__).resolve().parents[3]
WAYS: dict[str, list[dict[str, str]]] = {
    "slurm.jobs": [{}],
    "slurm.efficiency": [{}],
    "slurm.queue_time": [{}, {"timezone": "Asia/Kolkata"}],
    "slurm.worst_days": [{}, {"top": "0"}],
    "slurm.usage": [{}, {"by": ",".join(KEYS)}, {"by": "month", "user": "ada"}],
    "slurm.ends": [{}, {"user": "ada"}],
    "slurm.failures": [{}, {"since": "2000-01-01"}],
    "slurm.arrays": [{}],
    "slurm.reasons": [{}, {"by": ",".join(FAILURE_KEYS)}],
    "slurm.trend": [{}, {"by": ",".join(TREND_KEYS)}],
}
"""Settings of each view that together give all of its columns."""


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> harvest.Dataset:
    """The two weeks of the example's cluster."""
    folder = tmp_path_factory.mktemp("accounting")
    run_script(ROOT / "examples" / "slurm-accounting" / "make_dump.py", folder / "sacct.txt")
    harvest.run(
        f"slurm:{folder / 'sacct.txt'}",
        f"parquet:{folder / 'out'}",
        settings={"slurm": {"timezone": "America/Chicago"}},
    )
    return harvest.open(folder / "out")


def test_the_columns_of_every_view_are_looked_at():
    assert set(WAYS) == {view.name for view in harvest_views()}


@pytest.mark.parametrize("view", WAYS)
def test_a_view_declares_the_columns_that_it_gives_and_no_others(example, view):
    assert faults_of_columns(example, view, WAYS[view]) == []


def test_the_columns_of_views_of_a_real_cluster_have_a_meaning(shared_data, tmp_path):
    dump = shared_data / "slurm" / "debian-22.05" / "parsable2-all-fields.out"
    harvest.run(f"slurm:{dump}", f"parquet:{tmp_path}")
    dataset = harvest.open(tmp_path)
    # ada is of the example
    ways = {**WAYS, "slurm.usage": [{"by": ",".join(KEYS)}], "slurm.ends": [{}]}
    for view in ways:
        assert faults_of_columns(dataset, view, ways[view]) == []


def test_hours_used_wasted_and_unknown_are_those_allocated_as_the_docs_say(example):
    for view in ("slurm.usage", "slurm.arrays"):
        for row in example.view(view).collect().iter_rows(named=True):
            for resource in RESOURCES:
                given, used, wasted, unknown = (
                    row[resource.column(what)] for what in ("", "used", "wasted", "unknown")
                )
                assert given is not None or (used is None and wasted is None and not unknown)
                assert (used or 0) + (wasted or 0) + unknown == pytest.approx(given or 0)
                share = row[f"{resource.name}_eff"]
                if share is not None:
                    assert share * (used + wasted) == pytest.approx(used)


def test_shares_wasted_are_of_what_all_groups_used_and_wasted(example):
    found = example.view("slurm.usage", by="user,partition").collect()
    for resource in RESOURCES:
        used, wasted = (
            found[resource.column(what)].fill_null(0.0).to_list() for what in ("used", "wasted")
        )
        whole = sum(used) + sum(wasted)
        shares = found[f"{resource.name}_wasted_share"].to_list()
        for share, part in zip(shares, wasted, strict=True):
            assert (share or 0) * whole == pytest.approx(part)


def test_runs_of_a_group_are_those_of_all_ends_together(example):
    ends = (
        "completed", "failed", "out_of_memory", "timeout", "node_fail", "cancelled", "preempted",
        "requeued", "not_ended", "state_unknown",
    )  # fmt: skip
    runs = example.view("slurm.jobs").collect()
    for row in example.view("slurm.usage").collect().iter_rows(named=True):
        assert row["jobs"] == sum(row[name] for name in ends)
        assert row["jobs"] == runs.filter(pl.col("user").eq_missing(row["user"])).height


def test_shares_of_a_job_are_quotients_of_its_columns(example):
    rows = example.view("slurm.efficiency").collect().to_dicts()
    parts = {
        "mem_eff": ("mem_used_bytes", "alloc_mem_bytes"),
        "timelimit_eff": ("elapsed_s", "timelimit_s"),
    }
    for share, (part, whole) in parts.items():
        known = [row for row in rows if row[part] is not None and row[whole]]
        assert known
        assert [row[share] * row[whole] for row in known] == pytest.approx(
            [row[part] for row in known]
        )
        assert all(row[share] is None for row in rows if row not in known)
