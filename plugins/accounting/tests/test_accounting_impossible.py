"""Numbers that cannot be: no view sums them up or shows them as waits and run times.

A job for each amount and each wrong value of it, in a dataset of its own: so whatever a reader lets
through, views hold.
"""

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from slurm_reader import REPORTS, Reader

from harvest_slurm.plugin import harvest_views

usage_report = REPORTS["slurm.usage"]
summary = REPORTS["slurm.summary"]
failures = REPORTS["slurm.failures"]
queue_time = REPORTS["slurm.queue_time"]

DUMP = """\
JobID|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|Elapsed|Suspended|Timelimit|ReqCPUS|AllocCPUS|NNodes|ReqMem|AllocTRES|TotalCPU|CPUTime|Planned|MaxRSS|NTasks|TRESUsageInTot|MaxDiskRead
1|ann|a|p|q|FAILED|2024-03-01T08:00:00|2024-03-01T08:00:00|2024-03-01T10:00:00|2024-03-01T12:00:00|02:00:00|00:00:00|04:00:00|4|4|2|1Gc|cpu=4,gres/gpu=2,mem=8G,node=2|04:00:00|08:00:00|02:00:00||||
1.0||a|||FAILED|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T12:00:00|02:00:00|00:00:00|||4|2||cpu=4|04:00:00|08:00:00||1G|2|cpu=04:00:00,gres/gpuutil=50,gres/gpumem=1G,mem=2G|1M
"""
START = datetime(2024, 3, 1, 10, tzinfo=UTC)
WRONG: dict[type[pl.DataType], tuple[Any, ...]] = {
    pl.Int64: (-1, -(2**63), 2**63 - 1, 2**62 + 1),
    pl.Float64: (-1.0, -1e300, 1e300, math.inf, math.nan, 2.0**63),
}
MAPS = {
    "slurm.job": [("alloc_tres", key, value) for key in ("mem", "gres/gpu", "gres/gpu:a100", "node")
                  for value in WRONG[pl.Int64]],
    "slurm.step": [("usage_in_tot", key, value) for key in ("mem", "gres/gpuutil", "gres/gpumem")
                   for value in WRONG[pl.Float64]],
}  # fmt: skip
TIMES = {
    "end before start": {"end_time": START - timedelta(hours=1)},
    "end a century later": {"end_time": START + timedelta(days=50_000)},
    "submission after start": {"submit_time": START + timedelta(hours=1)},
    "eligible after start": {"eligible_time": START + timedelta(hours=1), "planned_s": None},
    "submission ages ago": {"submit_time": START - timedelta(days=50_000)},
}
GIVEN = ("elapsed_s", "alloc_cpus")
"""Amounts that the CPU hours are of; without them CPUTime is."""


class Wrong(Reader):
    """Copies of a job and its step, each with one thing that cannot be; ``user`` says which."""

    def __init__(self, path: Path):
        super().__init__(path, timezone="UTC")
        cases: list[tuple[str, str, dict[str, Any]]] = [("slurm.job", "nothing", {})]
        for kind, frame in self.frames.items():
            of = "" if kind == "slurm.job" else "step "
            for name, dtype in frame.schema.items():
                for value in WRONG.get(dtype.base_type(), ()):
                    if name not in ("position", "job_position", "job_id_raw"):
                        cases.append((kind, f"{of}{name} {value}", {name: value}))
            for name, key, value in MAPS[kind]:
                more = [{"key": key, "value": value}, {"key": "cpu", "value": type(value)(4)}]
                cases.append((kind, f"{of}{name} {key} {value}", {name: more}))
        cases += [("slurm.job", what, times) for what, times in TIMES.items()]
        self.cases = {what: changed for _, what, changed in cases}
        self.made = {
            kind: pl.concat(
                self.copy(kind, number, what, changed if kind == of else {})
                for number, (of, what, changed) in enumerate(cases, start=1)
            )
            for kind in self.frames
        }

    def copy(self, kind: str, number: int, what: str, changed: dict[str, Any]) -> pl.DataFrame:
        frame = self.frames[kind]
        own = {"job_id": f"{number}", "job_id_raw": number, "position": 2 * number}
        own |= {"user": what} if kind == "slurm.job" else {"job_position": 2 * number}
        if kind == "slurm.step" and (submitted := self.cases[what].get("submit_time")):
            own["job_submit_time"] = submitted
        row = frame.to_dicts()[0] | own | changed
        return pl.DataFrame([row], schema=frame.schema)

    def __getitem__(self, name: str) -> pl.LazyFrame:
        return self.made[name].lazy()


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Wrong:
    path = tmp_path_factory.mktemp("wrong") / "dump.txt"
    path.write_text(DUMP)
    return Wrong(path)


def test_the_case_without_a_mistake_is_known_in_full(wrong):
    found = wrong.view("slurm.usage").filter(user="nothing").collect().to_dicts()[0]
    expected = {"cpu_hours": 8.0, "cpu_used_hours": 4.0, "gpu_hours": 4.0, "gpu_used_hours": 1.0,
                "mem_gib_hours": 16.0, "mem_used_gib_hours": 4.0, "mean_wait_s": 7200.0,
                "impossible_jobs": 0, "undivided_jobs": 0}  # fmt: skip
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("view", [view.name for view in harvest_views()])
def test_no_view_shows_an_amount_or_a_time_that_cannot_be(wrong, view):
    grouped = ("slurm.usage", "slurm.trend", "slurm.reasons")
    found = wrong.view(view, **({"by": "user"} if view in grouped else {})).collect()
    for name in found.columns:
        kind = found.schema[name]
        amount = name.endswith(("_s", "_hours", "_bytes", "_eff", "jobs", "_cpus", "_nodes"))
        if kind.is_numeric() and amount and "wasted" not in name:
            values = found[name].drop_nulls().to_list()
            assert all(math.isfinite(value) and value >= 0 for value in values), (name, values)
            if name.endswith("_bytes"):
                assert all(value <= 2**62 for value in values), name


def test_what_cannot_be_is_named_and_sums_are_of_the_rest(wrong):
    jobs = {row["user"]: row for row in wrong.view("slurm.jobs").collect().iter_rows(named=True)}
    used = {row["user"]: row for row in wrong.view("slurm.usage").collect().iter_rows(named=True)}
    assert jobs["nothing"]["impossible"] is None
    for what in TIMES:
        assert "_time to start_time" in jobs[what]["impossible"] or (
            jobs[what]["impossible"] == "start_time to end_time"
        )
    for name in ("elapsed_s", "alloc_cpus", "cpu_time_s", "timelimit_s", "total_cpu_s"):
        for what in (case for case in jobs if case.split(" ")[0] == name):
            assert name in (jobs[what]["impossible"] or ""), what
            assert used[what]["impossible_jobs"] == 1
    # the CPU hours of an elapsed time that cannot be are CPUTime's; no hours pass those of a job
    whole = {what: row["cpu_hours"] for what, row in used.items()}
    assert {whole[what] for what in whole if what.startswith(GIVEN)} == {8.0}
    assert all(hours is None or 0 <= hours <= 8.0 for hours in whole.values())
    waits = {what: used[what]["mean_wait_s"] for what in ("end before start", *list(TIMES)[2:])}
    assert set(waits.values()) == {7200.0}  # else Planned, of which the first is not wrong


def test_a_run_whose_times_cannot_be_is_at_one_moment_and_its_hours_stay(wrong):
    found = wrong.view("slurm.usage", by="month,user").sort("month").collect()
    for what, month in (("end before start", "2024-03"), ("end a century later", "2161-01")):
        rows = found.filter(user=what)
        assert rows.select("month", "cpu_hours", "undivided_jobs").rows() == [(month, 8.0, 1)]


@pytest.mark.slow
def test_each_report_says_what_cannot_be(wrong):
    for report in (usage_report, summary, failures, queue_time):
        text = " ".join(report(wrong, user="end before start").text(400).split())
        assert "Impossible times or amounts of 1 job: start_time to end_time (1)." in text
    assert "Impossible" not in queue_time(wrong, user="nothing").text(400)
