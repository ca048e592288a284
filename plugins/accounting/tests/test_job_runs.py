"""A stranger's scheduler: what its plugin declares, and one answer over its jobs and Slurm's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from harvest import PluginError
from harvest_accounting.job_runs import of_all

pytestmark = pytest.mark.slow

LSF = '''\
"""Jobs of LSF, a row per run, in a CSV file."""
import csv
from datetime import datetime
import harvest
from harvest import SourceSpec, declare, hookimpl
from harvest_accounting import JobRuns, Words, reports_of, rules_of, views_of

@harvest.record("lsf.job", layer="job", level="job")
class Job(harvest.Record):
    """A run of a job."""
    job_id: str = harvest.field(role="job", doc="Its number.")
    cluster: str = harvest.field(doc="Its cluster.")
    user: str | None = harvest.field(role="user", doc="Its owner.")
    queue: str | None = harvest.field(doc="Its queue.")
    state: str | None = harvest.field(doc="Its state.")
    exit_code: int | None = harvest.field(doc="Its exit code.")
    submit_time: datetime | None = harvest.field(doc="When it was submitted.")
    start_time: datetime | None = harvest.field(role="time", doc="When it started.")
    end_time: datetime | None = harvest.field(role="end_time", doc="When it ended.")
    elapsed_s: float | None = harvest.field(unit="s", doc="How long it ran.")
    alloc_cpus: int | None = harvest.field(doc="Its CPUs.")
    used_s: float | None = harvest.field(unit="s", doc="CPU time used.")

class LsfSource(harvest.Source):
    """Jobs of LSF."""
    name, record_types = "lsf", (Job,)
    def read(self, partition, ctx):
        kinds = {"exit_code": int, "alloc_cpus": int, "elapsed_s": float, "used_s": float}
        for row in csv.DictReader(partition.path.open()):
            ctx.read(1)
            known = {n: kinds.get(n, datetime.fromisoformat if n.endswith("_time") else str)(value)
                     for n, value in row.items() if value}
            yield Job(**dict.fromkeys(row) | known)

JOB_RUNS = JobRuns(
    scheduler="lsf", record_type="lsf.job", order="start_time",
    columns={"partition": "queue", "cpu_s": "used_s"},
    words=Words(scheduler="LSF", columns={"group": "Null: LSF has no groups."}),
)

harvest_sources = declare(
    SourceSpec(name="lsf", doc="LSF.", factory=LsfSource, record_types=("lsf.job",))
)

harvest_views = hookimpl(lambda: views_of(JOB_RUNS))
harvest_reports = hookimpl(lambda: reports_of(JOB_RUNS))
harvest_rules = hookimpl(lambda: rules_of(JOB_RUNS))
'''
# job 2 ran again after its node failed; of job 4 the start is in one file, the end in the next
LSF_JOBS = """\
job_id,cluster,user,queue,state,exit_code,submit_time,start_time,end_time,elapsed_s,alloc_cpus,used_s
1,elm,ann,long,completed,0,2024-03-01T00:00Z,2024-03-01T01:00Z,2024-03-01T03:00Z,7200,4,14400
2,elm,bob,long,node_fail,0,2024-03-01T00:00Z,2024-03-01T01:00Z,2024-03-01T02:00Z,3600,8,
2,elm,bob,long,failed,3,2024-03-01T00:00Z,2024-03-01T05:00Z,2024-03-01T06:00Z,3600,8,7200
3,elm,bob,short,pending,0,2024-03-31T22:00Z,,,,1,
4,elm,bob,short,running,0,2024-03-31T20:00Z,2024-03-31T22:00Z,,,2,
4,elm,bob,short,completed,0,2024-03-31T20:00Z,2024-03-31T22:00Z,2024-04-01T02:00Z,14400,2,20000
"""
SACCT = """\
JobID|Cluster|User|Account|Partition|State|ExitCode|Submit|Start|End|Elapsed|AllocCPUS|TotalCPU
1|larch|ann|a|long|COMPLETED|0:0|2024-03-01T00:00:00|2024-03-01T00:10:00|2024-03-01T02:10:00|02:00:00|2|03:00:00
2|larch|cho|a|long|FAILED|1:0|2024-03-02T00:00:00|2024-03-02T00:10:00|2024-03-02T01:10:00|01:00:00|16|00:30:00
3|larch|cho|a|long|COMPLETED|0:0|2024-03-31T20:00:00|2024-03-31T21:00:00|2024-04-01T03:00:00|06:00:00|1|05:00:00
"""
ASK = """
import json, sys, harvest
asked = json.loads(sys.argv[1])
for name, source in asked["runs"].items():
    for each in source:
        harvest.run(each, f"parquet:{name}", workers=1)
found = {"offered": {}, "rows": [], "rules": {}}
for name in asked["runs"]:
    data = harvest.open(name)
    shown = [name for kind in ("views", "reports") for name in data.summary()[kind]]
    found["offered"][name] = sorted({each.partition(".")[0] for each in shown})
    found["rules"][name] = sorted({f.rule.name for f in data.findings().found})
found["titles"] = [data.report(f"jobs.{r}").text(200).splitlines()[0]
                   for r in ("usage", "summary", "queue_time", "failures")]
for name, view, settings in asked["views"]:
    found["rows"].append(harvest.open(name).view(view, **settings).collect().to_dicts())
doc = harvest.open("both").describe("lsf.jobs")
found["docs"] = {column.name: column.doc for column in doc.columns}
print(json.dumps(found, default=str))
"""
VIEWS = [
    ["both", "jobs.usage", {"by": "scheduler"}],
    ["both", "jobs.usage", {"by": "scheduler,month"}],
    ["both", "lsf.usage", {"by": "user"}],
    ["both", "jobs.usage", {"by": "user", "scheduler": "lsf"}],
    ["slurm", "jobs.usage", {"by": "user"}],
    ["slurm", "slurm.usage", {"by": "user"}],
    ["both", "jobs.jobs", {}],
    ["both", "jobs.reasons", {"by": "scheduler,account"}],
    ["both", "jobs.ends", {}],
    ["both", "jobs.trend", {}],
    ["both", "jobs.queue_time", {}],
    ["both", "jobs.worst_days", {}],
    ["both", "jobs.efficiency", {}],
    ["both", "jobs.arrays", {}],
]


def installed(folder: Path, point: str = "harvest_lsf:JOB_RUNS") -> dict[str, str]:
    """An environment in which the stranger's plugin is installed."""
    (folder / "harvest_lsf.py").write_text(LSF)
    information = folder / "harvest_lsf-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: harvest-lsf\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text(
        f"[harvest]\nlsf = harvest_lsf\n[harvest.job_runs]\nlsf.job = {point}\n"
    )
    return os.environ | {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lsf")
    (folder / "jobs.csv").write_text(LSF_JOBS)
    (folder / "sacct.txt").write_text(SACCT)
    return folder


@pytest.fixture(scope="module")
def found(place: Path) -> dict:
    """What a process with that plugin says of datasets of LSF, of Slurm, and of both."""
    runs = {"slurm": ["slurm:sacct.txt"], "lsf": ["lsf:jobs.csv"]}
    asked = {"runs": runs | {"both": [*runs["slurm"], *runs["lsf"]]}, "views": VIEWS}
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(asked)],
        cwd=place, env=installed(place), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    answer["rows"] = dict(zip([json.dumps(view) for view in VIEWS], answer["rows"], strict=True))
    return answer


def rows(found: dict, *view: object) -> list[dict]:
    return found["rows"][json.dumps(view)]


SUMS = """
with runs as (
  select 'lsf' as scheduler, job_id, start_time, end_time, elapsed_s, alloc_cpus, used_s as used_s,
    state
  from 'both/lsf.job/*.parquet'
  union all
  select 'slurm', job_id, start_time, end_time, elapsed_s, alloc_cpus, total_cpu_s, state
  from 'both/slurm.job/*.parquet'
), once as (
  from runs qualify row_number() over (
    partition by scheduler, job_id, start_time order by end_time desc nulls last) = 1
)
select scheduler, count(*) as jobs, sum(elapsed_s * alloc_cpus) / 3600 as cpu_hours,
  sum(used_s) / 3600 as cpu_used_hours,
  sum(elapsed_s * alloc_cpus - used_s) / 3600 as cpu_wasted_hours,
  count(*) filter (state in ('failed', 'node_fail')) as failed_jobs
from once group by all order by scheduler
"""


def test_sums_over_all_schedulers_are_those_of_their_record_types(found, place, monkeypatch):
    monkeypatch.chdir(place)
    known = duckdb.sql(SUMS).fetchall()
    names = ("scheduler", "jobs", "cpu_hours", "cpu_used_hours", "cpu_wasted_hours", "failed_jobs")
    by = sorted(
        rows(found, "both", "jobs.usage", {"by": "scheduler"}), key=lambda r: r["scheduler"]
    )
    assert [tuple(row[name] for name in names) for row in by] == [
        tuple(pytest.approx(value) for value in row) for row in known
    ]
    # by month, hours are those of the month: two of four hours of job 4, three of six of job 3
    months = rows(found, "both", "jobs.usage", {"by": "scheduler,month"})
    hours = {(row["scheduler"], row["month"]): row["cpu_hours"] for row in months}
    assert hours == {
        ("lsf", "2024-03"): 8 + 8 + 8 + 4, ("lsf", "2024-04"): 4,
        ("slurm", "2024-03"): 4 + 16 + 3, ("slurm", "2024-04"): 3,
    }  # fmt: skip


def test_all_views_have_the_runs_of_each_scheduler(found):
    runs = rows(found, "both", "jobs.jobs", {})
    assert sorted((run["scheduler"], run["job_id"], run["restart"]) for run in runs) == [
        ("lsf", "1", 0), ("lsf", "2", 0), ("lsf", "2", 1), ("lsf", "3", 0), ("lsf", "4", 0),
        ("slurm", "1", 0), ("slurm", "2", 0), ("slurm", "3", 0),
    ]  # fmt: skip
    reasons = rows(found, "both", "jobs.reasons", {"by": "scheduler,account"})
    assert sorted((r["scheduler"], r["account"], r["reason"], r["jobs"]) for r in reasons) == [
        ("lsf", None, "exit code 3", 1),
        ("lsf", None, "node", 1),
        ("slurm", "a", "exit code 1", 1),
    ]
    assert sum(row["jobs"] for row in rows(found, "both", "jobs.ends", {})) == 8
    trend = rows(found, "both", "jobs.trend", {})
    assert [(row["month"], row["jobs"], row["cpu_hours"]) for row in trend] == [
        ("2024-03", 6, 51), ("2024-04", 2, 7),
    ]  # fmt: skip
    waits = rows(found, "both", "jobs.queue_time", {})
    assert sum(row["jobs"] for row in rows(found, "both", "jobs.worst_days", {})) == len(waits) == 7
    shares = rows(found, "both", "jobs.efficiency", {})
    assert {(r["scheduler"], r["job_id"]): r["cpu_eff"] for r in shares}["lsf", "1"] == 0.5
    assert rows(found, "both", "jobs.arrays", {}) == []


def test_a_dataset_of_one_scheduler_is_offered_its_own_views_and_answers_to_both_names(found):
    offered = {name: {"slurm", "lsf", "jobs"} & set(its) for name, its in found["offered"].items()}
    assert offered == {"slurm": {"slurm"}, "lsf": {"lsf"}, "both": {"slurm", "lsf", "jobs"}}
    by_user = [rows(found, "slurm", f"{name}.usage", {"by": "user"}) for name in ("jobs", "slurm")]
    assert by_user[0] == by_user[1]
    chosen = rows(found, "both", "jobs.usage", {"by": "user", "scheduler": "lsf"})
    assert chosen == rows(found, "both", "lsf.usage", {"by": "user"})
    assert all(title.strip() for title in found["titles"])


def test_the_rules_of_each_scheduler_judge_its_jobs(found):
    alone = {name: found["rules"][name] for name in ("slurm", "lsf")}
    assert alone == {
        "slurm": ["slurm.failed_jobs"],
        "lsf": ["lsf.failed_jobs", "lsf.node_failures", "lsf.requeues"],
    }
    assert found["rules"]["both"] == sorted([*alone["slurm"], *alone["lsf"]])


def test_columns_mean_what_the_scheduler_says_else_what_its_record_type_does(found):
    assert found["docs"]["group"] == "Null: LSF has no groups."
    assert found["docs"]["user"] == "Its owner."
    assert found["docs"]["cpu_s"] == "CPU seconds used; null until the run has ended."
    assert "steps" not in found["docs"]


def test_an_entry_point_that_names_something_else_is_an_error_that_says_so(tmp_path, monkeypatch):
    installed(tmp_path, "harvest_accounting:Words")
    monkeypatch.syspath_prepend(tmp_path)
    said = "harvest_accounting:Words does not declare the runs of lsf.job"
    with pytest.raises(PluginError, match=said) as caught:
        of_all().schedulers()
    assert "ask the author of harvest-lsf" in caught.value.remedy
