"""A figure is right or unknown, whichever fields a dump has; it is never 0 or wrong instead.

A small accounting table is written from facts that are known, as sacct writes it; then fields are
left out.
"""

import tempfile
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from slurm_reader import REPORTS, VIEWS, Reader, clock, read_dump, write_rows

from harvest_accounting.report.words import hours_in_words
from harvest_report import Notes, Report, Table
from harvest_slurm.runs import jobs

summary = REPORTS["slurm.summary"]
efficiency = VIEWS["slurm.efficiency"]

GIB = 2**30
BEGIN = datetime(2023, 12, 30, 22, tzinfo=UTC)


@attrs.frozen
class Job:
    """What is known of a job: CPU milliseconds in user and system mode and memory per step."""

    id: str
    user: str
    cpus: int
    nodes: int
    gpus: int
    seconds: int
    steps: tuple[tuple[str, int, int, int, int], ...]  # name, tasks, user ms, system ms, KiB a task
    state: str = "COMPLETED"
    waits: int = 90

    @property
    def mem(self) -> int:
        return self.cpus * GIB

    @property
    def submit(self) -> datetime:
        return BEGIN + timedelta(hours=7 * int(self.id.partition("_")[0]))


JOBS = [
    Job("1", "ann", 4, 1, 2, 3600, (("batch", 1, 3_000_000, 600_500, 50), ("0", 6, 250, 0, 90))),
    Job("2", "bob", 128, 2, 0, 90_000, (("batch", 1, 9_500, 20, 800),), state="FAILED", waits=0),
    Job("3_7", "ann", 1, 1, 0, 59, (("batch", 1, 58_000, 1, 4), ("extern", 1, 0, 1, 100))),
    Job("4", "cyd", 16, 1, 0, 7200, (("batch", 1, 7_000_000, 12, 64),), state="TIMEOUT"),
]  # fmt: skip
WAITING = Job("5", "cyd", 8, 1, 0, 0, (), state="PENDING")


def cpu_clock(millis: int) -> str:
    seconds, rest = divmod(millis, 1000)
    return f"{clock(seconds)}.{rest:03}"


def time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def fields_of(job: Job) -> dict[str, str]:
    """The row of a job as sacct prints it; one that waits shows the CPUs that it asked for."""
    start = job.submit + timedelta(seconds=job.waits)
    ran = job.seconds > 0
    tres = f"billing={job.cpus},cpu={job.cpus},mem={job.cpus}G,node={job.nodes}"
    gpus = f",gres/gpu:a100={job.gpus}" if job.gpus else ""
    used = [sum(step[place] for step in job.steps) for place in (2, 3)]
    return {
        "JobID": job.id, "User": job.user, "Partition": "gpu" if job.gpus else "cpu",
        "QOS": "normal", "State": job.state, "Submit": time(job.submit),
        "Eligible": time(job.submit), "Start": time(start) if ran else "Unknown",
        "End": time(start + timedelta(seconds=job.seconds)) if ran else "Unknown",
        "Elapsed": clock(job.seconds), "ElapsedRaw": str(job.seconds), "Planned": clock(job.waits),
        "Timelimit": "1-02:00:00", "TimelimitRaw": str(26 * 60),
        **dict.fromkeys(("AllocCPUS", "NCPUS", "ReqCPUS"), str(job.cpus)),
        **dict.fromkeys(("NNodes", "ReqNodes"), str(job.nodes)),
        "AllocNodes": str(job.nodes if ran else 0), "ReqMem": "1Gc", "ReqTRES": tres,
        "AllocTRES": tres + gpus if ran else "", "CPUTime": clock(job.seconds * job.cpus),
        "CPUTimeRAW": str(job.seconds * job.cpus), "TotalCPU": cpu_clock(sum(used)),
        "UserCPU": cpu_clock(used[0]), "SystemCPU": cpu_clock(used[1]),
    }  # fmt: skip


def fields_of_step(job: Job, step: tuple[str, int, int, int, int]) -> dict[str, str]:
    name, tasks, user, system, rss = step
    row = fields_of(job)
    most = f"cpu=00:00:01,fs/disk={rss * 3},mem={rss}K,pages=7,vmem={rss * 2}K"
    for field in ("User", "Partition", "QOS", "Timelimit", "TimelimitRaw", "ReqMem", "ReqTRES"):
        row[field] = ""
    return row | {
        "JobID": f"{job.id}.{name}",
        "Submit": row["Start"],
        "Eligible": row["Start"],
        "NTasks": str(tasks),
        "TotalCPU": cpu_clock(user + system),
        "UserCPU": cpu_clock(user),
        "SystemCPU": cpu_clock(system),
        "MaxRSS": f"{rss}K",
        "TRESUsageInMax": most,
        "TRESUsageInTot": f"cpu=00:00:01,mem={rss * tasks}K",
        "TRESUsageOutMax": f"fs/disk={rss * 5}",
    }


EVERY = sorted({*fields_of(JOBS[0]), *fields_of_step(JOBS[0], JOBS[0].steps[0])} - {"JobID"})


def dump(names: Collection[str]) -> Reader:
    """The table with some of its fields."""
    rows = [
        row
        for job in [*JOBS, WAITING]
        for row in (fields_of(job), *(fields_of_step(job, step) for step in job.steps))
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(Path(folder) / "dump.txt", ["JobID", *names], rows)
        return Reader(path, timezone="UTC")


def largest(job: Job, amount: Callable[[Any], int]) -> int:
    return max(amount(step) for step in job.steps)


# column of the view slurm.jobs -> what it must be, and the sets of fields each of which suffices
RAN: list[set[str]] = [{"Start"}, {"Elapsed"}, {"ElapsedRaw"}]
ELAPSED = [{"Elapsed"}, {"ElapsedRaw"}, {"Start", "End"}]
GIVEN = [{"AllocCPUS"}, {"AllocTRES"}, {"NCPUS"}]
ASKED: list[set[str]] = [a | b for a in ELAPSED for b in ({"ReqCPUS"}, {"ReqTRES"})]
CPUS = [*GIVEN, *ASKED]
RSS = [{"MaxRSS"}, {"TRESUsageInMax"}]
CPU_TIME = [{"CPUTime"}, {"CPUTimeRAW"}, *(a | b for a in ELAPSED for b in CPUS)]
# what a run uses is known when it has ended
ENDED: list[set[str]] = [{"State"}, {"End"}]
USED = [used | end for used in ({"TotalCPU"}, {"UserCPU", "SystemCPU"}) for end in ENDED]
KNOWN: dict[str, tuple[Callable[[Job], float], list[set[str]]]] = {
    "elapsed_s": (lambda job: job.seconds, ELAPSED),
    "alloc_cpus": (lambda job: job.cpus, CPUS),
    "cpu_time_s": (lambda job: job.seconds * job.cpus, CPU_TIME),
    "cpu_s": (lambda job: sum(step[2] + step[3] for step in job.steps) / 1000, USED),
    "timelimit_s": (lambda job: 26 * 3600, [{"Timelimit"}, {"TimelimitRaw"}]),
    "wait_s": (lambda job: job.waits, [{"Submit", "Start"}]),
    "planned_s": (lambda job: job.waits, [{"Planned"}, {"Eligible", "Start"}]),
    "req_cpus": (lambda job: job.cpus, [{"ReqCPUS"}, {"ReqTRES"}]),
    "req_nodes": (lambda job: job.nodes, [{"ReqNodes"}, {"ReqTRES"}]),
    "alloc_nodes": (
        lambda job: job.nodes,
        [{"AllocNodes"}, {"AllocTRES"}, *({"NNodes"} | ran for ran in RAN)],
    ),
    "alloc_gpus": (lambda job: job.gpus, [{"AllocTRES"}]),
    "req_mem_bytes": (lambda job: job.mem, [{"ReqTRES"}, *({"ReqMem"} | cpus for cpus in CPUS)]),
    "alloc_mem_bytes": (
        lambda job: job.mem,
        [{"AllocTRES"}, *({"ReqMem"} | cpus | ran for cpus in GIVEN for ran in RAN)],
    ),
    "max_rss_bytes": (lambda job: largest(job, lambda step: step[4] * 1024), RSS),
    "mem_used_bytes": (
        lambda job: largest(job, lambda step: step[1] * step[4] * 1024),
        [a | end for a in ({"TRESUsageInTot"}, *({"NTasks"} | r for r in RSS)) for end in ENDED],
    ),
    "max_disk_read_bytes": (lambda job: largest(job, lambda s: s[4] * 3), [{"TRESUsageInMax"}]),
    "max_disk_write_bytes": (lambda job: largest(job, lambda s: s[4] * 5), [{"TRESUsageOutMax"}]),
}

SONAR = {"User", "State", "Start", "End", "AllocTRES", "ElapsedRaw", "UserCPU", "SystemCPU",
         "MaxRSS"}  # fmt: skip
SEFF = {"User", "State", "AllocCPUS", "ReqMem", "TotalCPU", "Elapsed", "MaxRSS", "NNodes", "NTasks"}
XDMOD = {"Partition", "QOS", "User", "Submit", "Eligible", "Start", "End", "Elapsed", "State",
         "NNodes", "NCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES", "Timelimit"}  # fmt: skip


@pytest.mark.slow
@given(st.one_of(st.sets(st.sampled_from(EVERY)), st.sets(st.sampled_from(EVERY), max_size=4)))
@example(SONAR)
@example(SEFF)
@example(XDMOD)
@example(set(EVERY))
@example({"ReqCPUS", "ElapsedRaw"})
def test_each_figure_is_the_known_one_or_unknown(names: set[str]) -> None:
    found = jobs(dump(sorted(names))).collect()
    rows = {row["job_id"]: row for row in found.to_dicts()}
    for job in JOBS:
        for column, (known, sources) in KNOWN.items():
            got = rows[job.id][column]
            if got is not None or any(source <= names for source in sources):
                assert got == pytest.approx(known(job), abs=1e-6), (job.id, column)


@pytest.mark.slow
@given(st.sets(st.sampled_from(EVERY)))
def test_a_job_that_waits_was_given_nothing(names: set[str]) -> None:
    used = jobs(dump(sorted(names))).collect()
    row = used.row(by_predicate=pl.col("job_id") == WAITING.id, named=True)
    for column in ("cpu_s", "cpu_time_s", "alloc_mem_bytes", "alloc_nodes", "mem_used_bytes"):
        assert not row[column], column
    assert row["alloc_gpus"] is None
    assert row["wait_s"] is None


def test_sonars_fields_give_cpu_hours_and_efficiency() -> None:
    # given what the monitoring tool Sonar asks of sacct: no AllocCPUS, Elapsed or TotalCPU
    found = efficiency(dump(sorted(SONAR))).collect().to_dicts()
    one = next(row for row in found if row["job_id"] == "1")
    assert one["cpu_hours"] == 4.0
    assert one["cpu_eff"] == pytest.approx((3_600_500 + 250) / 1000 / (4 * 3600))
    assert one["mem_eff"] is None  # a step of unknown many tasks was sampled
    assert "0.0 CPU hours" not in summary(dump(sorted(SONAR))).text()


def test_end_minus_start_leaves_out_the_time_of_suspension(tmp_path: Path) -> None:
    text = "JobID|State|Start|End|Suspended\n"
    text += "1|COMPLETED|2024-01-01T10:00:00|2024-01-01T11:00:00|00:10:00\n"
    assert read_dump(tmp_path, text).rows("slurm.job")[0]["elapsed_s"] == 3000.0


def test_an_end_in_another_millennium_does_not_stop_the_harvest(tmp_path: Path) -> None:
    text = "JobID|State|Start|End\n1|COMPLETED|2024-05-01T08:00:00|9999-05-01T08:00:00\n"

    (row,) = read_dump(tmp_path, text).rows("slurm.job")

    assert row["elapsed_s"] == (datetime(9999, 5, 1) - datetime(2024, 5, 1)).total_seconds()


def test_end_minus_start_without_suspensions_is_noted(tmp_path: Path) -> None:
    # given a dump of jobs alone, without Elapsed and Suspended
    text = "JobID|State|Start|End\n1|FAILED|2024-01-01T10:00:00|2024-01-01T11:00:00\n"
    found = read_dump(tmp_path, text, timezone="UTC")
    assert [row["elapsed_s"] for row in found.rows("slurm.job")] == [3600.0]
    assert found.notes == [
        "elapsed times are End minus Start, with suspensions; add Elapsed to sacct --format"
    ]


def test_cpus_that_were_asked_for_are_noted_and_only_of_jobs_that_ran(tmp_path: Path) -> None:
    # given neither AllocCPUS, AllocTRES nor NCPUS
    text = "JobID|State|ElapsedRaw|ReqCPUS\n1|COMPLETED|60|4\n2|PENDING|0|8\n"
    found = read_dump(tmp_path, text, timezone="UTC")
    assert [row["alloc_cpus"] for row in found.rows("slurm.job")] == [4, None]
    assert found.notes == [
        "CPUs of jobs are those they asked for (ReqCPUS), since those allocated are not in the "
        "dump; ask sacct for AllocCPUS"
    ]


def test_gpus_are_unknown_where_the_cluster_does_not_account_for_them(tmp_path: Path) -> None:
    (tmp_path / "dump.txt").write_text("JobID|State|AllocTRES\n1|COMPLETED|cpu=4,mem=1G,node=1\n")
    assert jobs(Reader(tmp_path / "dump.txt")).collect()["alloc_gpus"].to_list() == [None]


# --- the numbers on the pages, with each field missing in turn --------------------------------

WITHOUT = [
    set(),
    *({name} for name in EVERY),
    {"Start", "End"},
    {"Submit", "Eligible"},
    {"Submit", "Start", "Planned"},
    {"Elapsed", "ElapsedRaw", "CPUTime", "CPUTimeRAW"},
    {"AllocCPUS", "NCPUS", "AllocTRES", "CPUTime", "CPUTimeRAW"},
    {"TotalCPU", "UserCPU"},
    {"User", "State", "Partition", "QOS"},
    set(EVERY),
]
IDS = [" ".join(sorted(names)) or "nothing" for names in WITHOUT[:-1]] + ["all"]
TELLING = (set(), {"User", "State", "Partition", "QOS"}, WITHOUT[-1])
"""Those without which most is said in another way."""

CASES = [
    pytest.param(names, id=name, marks=() if names in TELLING else pytest.mark.slow)
    for names, name in zip(WITHOUT, IDS, strict=True)
]


def table(report: Report, name: str) -> pl.DataFrame:
    (found,) = (item for item in report.sections if isinstance(item, Table) and item.name == name)
    return found.data


def said_once(report: Report, field: str) -> bool:
    """Whether a note says which option brings a field; never twice."""
    notes = [section for section in report.sections if isinstance(section, Notes)]
    said = [item for section in notes for item in section.items]
    count = sum(f"harvest with sacct --format={field}" in item for item in said)
    assert count < 2
    return count == 1


@pytest.mark.parametrize("missing", CASES)
def test_totals_of_the_summary_equal_the_sums_of_its_tables(missing: set[str]) -> None:
    names = set(EVERY) - missing
    report = summary(dump(sorted(names)), top=1)
    tiles = {tile.label: tile for tile in report.tiles}
    jobs = len(JOBS) + 1
    assert tiles["jobs"].value == f"{jobs}"
    # a job that waits has used no CPU hours, where it is known that it did not run
    expected = sum(job.seconds * job.cpus for job in JOBS) / 3600
    is_known = any(source <= names for source in CPU_TIME)
    given = tiles["CPU hours allocated"].value
    assert given == (hours_in_words(expected) if is_known else "not recorded")
    for name in ("user", "partition", "state", "month"):
        if name.title() in missing:  # not even a table of dashes
            assert name not in [section.name for section in report.sections]
            continue
        rows = table(report, name)
        assert rows["jobs"].sum() == jobs
        assert ("cpu_hours" in rows.columns) is is_known
        assert not is_known or rows["cpu_hours"].sum() == pytest.approx(expected)
        used = any(source <= names for source in USED)
        assert ("cpu_eff" in rows.columns) is (is_known and used)
    for field in ("User", "Partition", "State"):
        assert said_once(report, field) is (field in missing)
    # of those that ended; where no state says whether they completed, no share is given
    done = f"completed: 50 % (of {len(JOBS)} ended runs)"
    assert str(tiles["completed"]) == (done if "State" in names else "completed: not recorded")
