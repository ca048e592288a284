"""What is not known is not zero: each column without values, and what is then said of the jobs.

A small cluster of which every rule finds something is looked at again with one column empty: no
count may become 0, no share lower, and no verdict worse.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from slurm_reader import REPORTS, RULES, Reader, write_rows

import harvest
from harvest.findings import evaluate
from harvest.plugins.registry import manager
from harvest_accounting.job_runs import ENDED
from harvest_slurm.job.find import find, of_group
from harvest_slurm.records import Job, Step
from harvest_slurm.values.scalars import STATES

usage_report = REPORTS["slurm.usage"]
summary = REPORTS["slurm.summary"]
queue_time = REPORTS["slurm.queue_time"]

"""Rules on jobs; the others are about what was noted of their inputs."""

FIELDS = [
    *("JobID", "Cluster", "User", "Account", "Partition", "QOS", "State", "ExitCode", "Submit"),
    *("Eligible", "Start", "End", "Elapsed", "Timelimit", "AllocNodes", "AllocCPUS", "ReqMem"),
    *("AllocTRES", "NTasks", "TotalCPU", "UserCPU", "SystemCPU", "MaxRSS", "TRESUsageInTot"),
]
LOW = {
    "slurm.cpu_waste": {"hours": 1},
    "slurm.memory_waste": {"hours": 1},
    "slurm.gpu_waste": {"hours": 1},
    "slurm.timelimit_waste": {"hours": 1},
    "slurm.long_waits": {"jobs": 3, "seconds": 60},
    "slurm.short_array_tasks": {"tasks": 3, "seconds": 7200},
    "slurm.failed_arrays": {"tasks": 3},
    "slurm.idle_arrays": {"tasks": 3, "hours": 1},
}
"""Limits that a few jobs reach."""


def job(number: str, state: str = "COMPLETED", user: str = "ann", **more: str) -> dict[str, str]:
    """An hour on four CPUs, two GPUs and 8 GiB, which waited for two hours."""
    return {
        "JobID": number, "Cluster": "c", "User": user, "Account": "a", "Partition": "p",
        "QOS": "q", "State": state, "ExitCode": "1:0" if state == "FAILED" else "0:0",
        "Submit": "2024-03-01T08:00:00", "Eligible": "2024-03-01T08:00:00",
        "Start": "2024-03-01T10:00:00", "End": "2024-03-01T11:00:00", "Elapsed": "01:00:00",
        "Timelimit": "10:00:00", "AllocNodes": "1", "AllocCPUS": "4", "ReqMem": "8G",
        "AllocTRES": "cpu=4,gres/gpu=2,mem=8G,node=1", "TotalCPU": "00:24:00",
        "UserCPU": "00:20:00", "SystemCPU": "00:04:00", **more,
    }  # fmt: skip


def step(of: dict[str, str], number: str = "batch") -> dict[str, str]:
    """It kept a tenth of the CPUs and of the GPUs busy, and used an eighth of the memory."""
    same = ("Cluster", "State", "ExitCode", "Start", "End", "Elapsed", "TotalCPU", "UserCPU",
            "SystemCPU", "AllocCPUS")  # fmt: skip
    return {name: of[name] for name in same} | {
        "JobID": f"{of['JobID']}.{number}", "Submit": of["Start"], "NTasks": "1",
        "MaxRSS": "1048576K", "TRESUsageInTot": "gres/gpuutil=20,gres/gpumem=1G,mem=1G",
    }  # fmt: skip


def cluster() -> Iterator[dict[str, str]]:
    """Jobs that complete and that end in each bad way, two arrays, a repeated run, one waiting."""
    states = ["COMPLETED"] * 3 + ["FAILED", "OUT_OF_MEMORY", "TIMEOUT", "NODE_FAIL"]
    for number, state in enumerate(states, start=1):
        yield job(str(number), state)
    yield job("20", "NODE_FAIL")
    yield job("20", "COMPLETED", Submit="2024-03-01T08:30:00")
    for number in range(4):
        yield job(f"30_{number}", "FAILED" if number else "COMPLETED", user="bob")
    yield job(
        "40", "PENDING", Start="Unknown", End="Unknown", Elapsed="00:00:00", AllocNodes="0",
        AllocCPUS="0", AllocTRES="", TotalCPU="00:00:00", UserCPU="00:00:00", SystemCPU="00:00:00",
    )  # fmt: skip


def dump(
    path: Path, jobs: Iterator[dict[str, str]], *, steps: bool = True, lacks: str = ""
) -> Path:
    """What sacct prints of these jobs; lacks: fields that were not asked for."""
    names = [name for name in FIELDS if name not in lacks.split(",")]
    rows = (
        record
        for row in jobs
        for record in (row, *([step(row)] if steps and row["State"] != "PENDING" else []))
    )
    return write_rows(path, names, rows)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(dump(tmp_path_factory.mktemp("whole") / "dump.txt", cluster()))


class Without(Reader):
    """A dataset with columns of which nothing is known."""

    def __init__(self, whole: Reader, kind: str, columns: list[str]):
        self.zone, frame = whole.zone, whole.frames[kind]
        nulls = (pl.lit(None, frame.schema[column]).alias(column) for column in columns)
        self.frames = whole.frames | {kind: frame.with_columns(nulls)}


def verdict(data: Reader) -> dict[str, str]:
    """By rule: the worst severity that it found, or else why it found nothing."""
    found = evaluate(data, manager(), rules=RULES, thresholds=LOW)
    said = dict.fromkeys(found.passed, "passed") | dict.fromkeys(found.elsewhere, "elsewhere")
    said |= {name: "partly" for name, _ in found.partly}
    said |= {name: "unjudged" for name, _ in found.unjudged}
    for one in reversed(found.found):  # the worst is first
        said[one.rule.name] = one.finding.severity
    assert set(said) == {rule.name for rule in RULES}
    return said


WORSE = ("elsewhere", "unjudged", "partly", "passed", "low", "medium", "high")


def test_every_rule_finds_something_of_the_cluster(whole):
    assert set(verdict(whole).values()) <= {"low", "medium", "high"}


NULLABLE = [
    (name, column)
    for name, cls in (("slurm.job", Job), ("slurm.step", Step))
    for column in [field.name for field in harvest.record_type(cls).arrow_schema if field.nullable]
    if column not in ("origin", "position", "extra", "job_position")
]
ARRAYS = {"slurm.short_array_tasks", "slurm.failed_arrays", "slurm.idle_arrays"}
COUNTS = (
    "jobs", "started", "waited_jobs", "compared_jobs", "completed", "failed", "out_of_memory",
    "timeout", "node_fail", "not_ended", "run_again", "tasks", "ended", "ended_jobs",
)  # fmt: skip
AMOUNTS = ("hours", "_wait_s", "_run_s", "_eff", "_used_bytes", "cpu_s")


SEEN = {
    "cluster", "array_job_id", "user", "account", "partition", "state", "exit_code", "submit_time",
    "job_submit_time", "eligible_time", "start_time", "end_time", "elapsed_s", "planned_s",
    "timelimit_s", "nodes", "alloc_nodes", "alloc_cpus", "req_mem_bytes", "req_mem_per",
    "alloc_tres", "cpu_time_s", "total_cpu_s", "user_cpu_s", "system_cpu_s", "restarts", "ntasks",
    "max_rss_bytes", "usage_in_tot",
}  # fmt: skip
"""Columns that sums, verdicts and reports are made of."""


def totals(data: Reader) -> dict[str, Any]:
    """Sums over the groups of each view that counts, null where nothing is known; and shares."""
    found = {}
    for view in ("slurm.usage", "slurm.ends", "slurm.failures", "slurm.arrays"):
        rows = data.view(view).collect()
        for name in rows.columns:
            if name in COUNTS or (name.endswith(AMOUNTS) and "unknown" not in name):
                known = rows[name].drop_nulls()
                share = name.endswith("_eff") or name.startswith(("median", "max", "mean"))
                whole = known.max() if share else known.sum()
                # a sum of 0 says nothing where some are not known
                told = len(known) and (len(known) == rows.height or whole)
                found[f"{view}.{name}"] = whole if told else None
    return found


@pytest.fixture(scope="module")
def as_it_is(whole: Reader) -> tuple[dict[str, Any], dict[str, str]]:
    return totals(whole), verdict(whole)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "column"), [pair for pair in NULLABLE if pair[1] in SEEN])
def test_without_a_column_no_count_becomes_0_and_no_verdict_gets_worse(
    whole, as_it_is, kind, column
):
    data = Without(whole, kind, [column])
    (before, first), after = as_it_is, totals(data)

    zero = {name for name, value in after.items() if value == 0 and before[name]}
    assert not zero
    lower = {
        name: (before[name], value)
        for name, value in after.items()
        if name.endswith("_eff") and value is not None
        if before[name] is None or value < before[name] * 0.999
    }
    assert not lower
    for name, said in verdict(data).items():
        assert WORSE.index(said) <= WORSE.index(first[name]), name
        # it found something: without what it needs it cannot find that there is nothing
        assert said != "passed", name
        assert said != "elsewhere" or (column == "array_job_id" and name in ARRAYS), name
    for report in (usage_report(data), summary(data), queue_time(data)):
        text = report.text(200) + " ".join(plot.alt for plot in report.plots)
        assert "None" not in text
        assert "0 used" not in text
        assert "0 wasted" not in text


@pytest.mark.slow
def test_columns_that_no_sum_is_made_of_change_nothing(whole, as_it_is):
    for kind in ("slurm.job", "slurm.step"):
        others = [column for name, column in NULLABLE if name == kind and column not in SEEN]
        data = Without(whole, kind, others)
        assert (totals(data), verdict(data)) == as_it_is


# dumps as sites make them


RUNNING = {
    "End": "Unknown", "Elapsed": "4-00:00:00", "TotalCPU": "00:00:00", "UserCPU": "00:00:00",
    "SystemCPU": "00:00:00",
}  # fmt: skip


@pytest.mark.slow
def test_what_running_jobs_use_is_not_known_beside_those_that_ended(tmp_path):
    """Three jobs of bob run for four days on four CPUs; ann's seven used 24 of 240 minutes."""
    jobs = [job(str(n)) for n in range(1, 8)]
    jobs += [job(str(n), "RUNNING", user="bob", **RUNNING) for n in range(11, 14)]
    data = Reader(dump(tmp_path / "dump.txt", iter(jobs)))
    ann, bob = data.view("slurm.usage").sort("user").collect().iter_rows(named=True)

    hours = 3 * 96 * 4
    assert (bob["cpu_hours"], bob["cpu_unknown_hours"], bob["not_ended_cpu_hours"]) == (hours,) * 3
    assert bob["cpu_used_hours"] is bob["cpu_wasted_hours"] is bob["cpu_eff"] is None
    assert bob["mem_eff"] is bob["gpu_eff"] is bob["median_run_s"] is None
    assert (ann["cpu_hours"], ann["cpu_eff"]) == (28, pytest.approx(0.1))
    report = usage_report(data)
    assert [str(tile) for tile in report.tiles][:3] == [
        f"CPU hours allocated: {hours + 28:,} (10 jobs)",
        "CPU hours used: 2.8 (10 % of the hours with known use)",
        f"CPU hours wasted: 25 (the use of {hours:,} more CPU hours is unknown)",
    ]
    whole = f"All groups together: 2.8 used, 25 wasted, {hours:,} unknown."
    assert report.plots[0].alt.endswith(whole)
    only_bob = [str(tile) for tile in usage_report(data, user="bob").tiles]
    assert "CPU hours used: not recorded (these runs have not ended)" in only_bob
    assert "completed: 100 % (of 7 ended runs)" in map(str, summary(data).tiles)
    waste = [f for f in evaluate(data, manager(), rules=RULES, thresholds=LOW).found
             if f.rule.name == "slurm.cpu_waste"]  # fmt: skip
    assert waste[0].finding.headline == "ann wasted 25 CPU hours"
    (one,) = find(data, "11").runs
    assert one["cpu_s"] is one["mem_used_bytes"] is None
    assert of_group([one])["cpu_unknown"] == 1


def test_where_all_jobs_run_nothing_is_concluded(tmp_path):
    jobs = [row | RUNNING | {"State": "RUNNING"} for row in cluster() if row["State"] != "PENDING"]
    data = Reader(dump(tmp_path / "dump.txt", iter(jobs)))

    assert set(verdict(data).values()) == {"elsewhere", "unjudged"}
    used = data.view("slurm.efficiency").collect()
    for name in ("cpu_eff", "mem_eff", "gpu_eff"):
        assert used[name].null_count() == used.height == len(jobs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacks", "unjudged"),
    [
        ("State", {"failed_jobs", "out_of_memory", "timeouts", "node_failures", "failed_arrays",
                   "timelimit_waste", "idle_arrays", "short_array_tasks"}),
        ("State,End", {"failed_jobs", "out_of_memory", "timeouts", "node_failures",
                       "failed_arrays", "timelimit_waste", "idle_arrays", "short_array_tasks",
                       "cpu_waste", "memory_waste", "gpu_waste", "long_waits"}),
        ("TotalCPU,UserCPU,SystemCPU", {"cpu_waste", "idle_arrays"}),
        ("User", {"cpu_waste", "memory_waste", "gpu_waste", "timelimit_waste"}),
        ("AllocCPUS,AllocTRES", {"cpu_waste", "gpu_waste", "idle_arrays"}),
        ("AllocTRES,ReqMem", {"gpu_waste", "memory_waste"}),
        ("Timelimit", {"timelimit_waste"}),
        ("MaxRSS,TRESUsageInTot", {"memory_waste", "gpu_waste"}),
        ("Submit,Eligible", {"long_waits"}),
        ("Partition", {"long_waits"}),
    ],
)  # fmt: skip
def test_a_rule_without_its_fields_could_not_judge_and_names_them(tmp_path, lacks, unjudged):
    data = Reader(dump(tmp_path / "dump.txt", cluster(), lacks=lacks))
    found = evaluate(data, manager(), rules=RULES, thresholds=LOW)

    assert set(found.passed) == {name for name, _ in found.partly}
    assert {name.removeprefix("slurm.") for name, _ in found.unjudged} == unjudged
    for name, reason in (*found.unjudged, *found.partly):
        assert any(field in reason for field in lacks.split(",")), name


def test_without_states_nothing_is_counted_as_failed_or_completed(tmp_path):
    jobs = [row for row in cluster() if row["State"] != "PENDING"]
    data = Reader(dump(tmp_path / "dump.txt", iter(jobs), lacks="State"))
    rows = data.view("slurm.usage").collect()

    assert rows["state_unknown"].sum() == len(jobs)
    for name in ("completed", "failed", "not_ended", "failed_cpu_hours", "timelimit_unknown_hours"):
        assert rows[name].null_count() == rows.height, name
    assert rows["timelimit_unknown_jobs"].sum() == len(jobs)
    ends = data.view("slurm.failures").collect()
    assert ends["state"].null_count() == ends.height
    assert (ends["jobs"].sum(), ends["ended_jobs"].null_count()) == (len(jobs), ends.height)
    assert "completed: not recorded" in map(str, summary(data).tiles)


@pytest.mark.slow
def test_without_steps_a_cpu_time_of_0_is_not_known(tmp_path):
    """As sacct -X prints it, and a cluster that gathers nothing."""
    zero = {"TotalCPU": "00:00:00", "UserCPU": "00:00:00", "SystemCPU": "00:00:00"}
    for steps in (False, True):
        path = dump(tmp_path / f"{steps}.txt", (row | zero for row in cluster()), steps=steps)
        data = Reader(path)
        held = data.view("slurm.jobs").collect()["steps"]
        assert held.null_count() == (0 if steps else len(held))
        rows = data.view("slurm.usage").collect()
        assert rows["cpu_eff"].null_count() == rows.height
        assert rows["cpu_unknown_hours"].sum() == rows["cpu_hours"].sum() == 13 * 4
        assert verdict(data)["slurm.cpu_waste"] == "unjudged"
        said = "CPU hours used: not recorded (the dump does not record usage)"
        assert said in map(str, usage_report(data).tiles)


def test_every_state_of_a_run_that_ended_is_one_of_sacct():
    assert set(ENDED) <= {state.lower() for state in STATES}
