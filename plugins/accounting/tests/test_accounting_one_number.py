"""A number under one name is one number: what reports show against the views that have it."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reporting import page_of
from scripts import run_script

import harvest
from harvest_accounting.views.declared.common import FAILURE_KEYS, KEYS, RESOURCES, TREND_KEYS
from harvest_report import Table
from harvest_slurm.plugin import harvest_reports, harvest_views
from harvest_testing import faults_of_columns

ROOT = Path(__file__).resolve().parents[3]
TWO_JOBS = """\
JobID|User|Account|State|Elapsed|AllocCPUS|AllocTRES|TotalCPU|MaxRSS|NTasks|Submit|Start|End
1|ann|a|COMPLETED|01:00:00|1|cpu=1,mem=10G,node=1|01:00:00||1|{0}T00:00:00|{0}T00:00:00|{0}T01:00:00
1.0|||COMPLETED|01:00:00|1|cpu=1,mem=10G,node=1|01:00:00|10G|1|{0}T00:00:00|{0}T00:00:00|{0}T01:00:00
2|ann|a|COMPLETED|09:00:00|1|cpu=1,mem=10G,node=1|09:00:00||1|{0}T01:00:00|{0}T01:00:00|{0}T10:00:00
2.0|||COMPLETED|09:00:00|1|cpu=1,mem=10G,node=1|09:00:00|1G|1|{0}T01:00:00|{0}T01:00:00|{0}T10:00:00
""".format("2025-01-01")  # fmt: skip
"""An hour with 10 of 10 GiB used, and nine hours with one of 10: 19 of 100 GiB h."""

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

Compared = tuple[str, str, Any, Any]
"""The report's table, the column, what the report shows and what the view has."""


def harvested(folder: Path, source: Path, zone: str) -> harvest.Dataset:
    harvest.run(f"slurm:{source}", f"parquet:{folder}", settings={"slurm": {"timezone": zone}})
    return harvest.open(folder)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> harvest.Dataset:
    """Two weeks of the example's cluster."""
    folder = tmp_path_factory.mktemp("one")
    run_script(ROOT / "examples" / "slurm-accounting" / "make_dump.py", folder / "sacct.txt")
    return harvested(folder / "out", folder / "sacct.txt", "America/Chicago")


def pairs(
    table: Table, view: pl.DataFrame, keys: list[str], renamed: str = ""
) -> Iterator[Compared]:
    """Each number of a table that a view has under its name."""
    there = {tuple(row[key] for key in keys): row for row in view.iter_rows(named=True)}
    own = [renamed] if renamed else keys
    names = [c.name for c in table.columns if c.name in view.columns and c.name not in keys]
    for row in table.rows.iter_rows(named=True):
        match = there[tuple(row[key] for key in own)]
        for name in names:
            yield table.name, name, row[name], match[name]


def tables(data: harvest.Dataset, report: str, **chosen: Any) -> dict[str, Table]:
    return {table.name: table for table in page_of(data, report, **chosen).tables}


def of_usage(data: harvest.Dataset, chosen: dict[str, Any]) -> Iterator[Compared]:
    prices = {"cpu_hour_cost": 0.02, "gpu_hour_cost": 1.5}
    by = ["user"] if chosen else ["month", "account"]
    rows = data.view("slurm.usage", by=by, **prices, **chosen).collect()
    for name, table in tables(data, "slurm.usage", by=by, top=0, **prices, **chosen).items():
        if name == "months":
            yield from pairs(table, data.view("slurm.trend", **chosen).collect(), ["month"])
        else:
            yield from pairs(table, rows, by)


def of_summary(data: harvest.Dataset, chosen: dict[str, Any]) -> Iterator[Compared]:
    for by, table in tables(data, "slurm.summary", top=0, **chosen).items():
        yield from pairs(table, data.view("slurm.usage", by=[by], **chosen).collect(), [by])


def of_failures(data: harvest.Dataset, chosen: dict[str, Any]) -> Iterator[Compared]:
    for name, table in tables(data, "slurm.failures", top=0, **chosen).items():
        by = name.removeprefix("by-").split("-") if name != "reasons" else ["cluster"]
        rows = data.view("slurm.reasons", by=by, **chosen).collect()
        if name == "reasons" and rows["cluster"].n_unique() > 1:
            continue
        yield from pairs(table, rows, ["reason"] if name == "reasons" else [*by, "reason"])


def of_waits(data: harvest.Dataset, chosen: dict[str, Any]) -> Iterator[Compared]:
    found = tables(data, "slurm.queue_time", top=0, **chosen)
    worst = data.view("slurm.worst_days", top=0, **chosen).collect()
    yield from pairs(found["worst-days"], worst, ["date"])
    if not chosen:  # of a period, waits are those that began in it, not of jobs that ended in it
        for by in ("partition", "qos"):
            rows = data.view("slurm.usage", by=[by]).drop("jobs").collect()
            rows = rows.rename({"waited_jobs": "jobs"})
            statistics = found["statistics"]
            mine = Table(by, statistics.rows.filter(by=by), statistics.columns)
            yield from pairs(mine, rows, [by], "name")


REPORTS = {
    "slurm.usage": of_usage,
    "slurm.summary": of_summary,
    "slurm.failures": of_failures,
    "slurm.queue_time": of_waits,
}


def test_every_report_is_compared():
    assert set(REPORTS) == {report.name for report in harvest_reports()}


@pytest.mark.slow
@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("whole", [True, False], ids=["all", "a month"])
def test_a_report_shows_what_the_views_have(example, report, whole):
    last = example.view("slurm.jobs").collect()["start_time"].drop_nulls().max()
    chosen = {} if whole else {"month": f"{last:%Y-%m}"}
    compared = list(REPORTS[report](example, chosen))
    for table, column, shown, had in compared:
        both_close = isinstance(shown, float) and had is not None and math.isclose(shown, had)
        assert shown == had or both_close, (table, column, shown, had)
    assert len(compared) > 20


@pytest.mark.slow
def test_memory_is_a_share_of_hours_in_each_report(tmp_path):
    """By hand: (1 h x 10 GiB + 9 h x 1 GiB) / (10 h x 10 GiB)."""
    (tmp_path / "two.txt").write_text(TWO_JOBS)
    two = harvested(tmp_path / "out", tmp_path / "two.txt", "UTC")
    assert two.view("slurm.usage").collect()["mem_eff"].to_list() == [pytest.approx(19 / 100)]
    found = tables(two, "slurm.summary")
    for by in ("user", "partition", "state", "month"):
        table = found.get(by)
        assert table is None or table.rows["mem_eff"].to_list() == [pytest.approx(19 / 100)]


# what views declare of their columns


def test_the_columns_of_every_view_are_looked_at():
    assert set(WAYS) == {view.name for view in harvest_views()}


@pytest.mark.parametrize("view", WAYS)
def test_a_view_declares_the_columns_that_it_gives_and_no_others(example, view):
    assert faults_of_columns(example, view, WAYS[view]) == []


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
