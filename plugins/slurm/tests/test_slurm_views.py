"""Views of jobs, against sums and means computed row by row in plain Python."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from slurm_reader import VIEWS, Reader, write_rows

from harvest_slurm.runs import jobs

efficiency = VIEWS["slurm.efficiency"]
queue_time = VIEWS["slurm.queue_time"]
worst_days = VIEWS["slurm.worst_days"]

FIELDS = (
    "JobID,JobName,User,Partition,QOS,State,Submit,Start,End,Elapsed,Timelimit,AllocNodes,"
    "AllocCPUS,ReqMem,AllocTRES,NTasks,TotalCPU,MaxRSS,TRESUsageInTot"
)


def rows(frame: pl.LazyFrame) -> list[dict[str, Any]]:
    return frame.collect().to_dicts()


def write(path: Path, lines: list[dict[str, str]]) -> Path:
    return write_rows(path, FIELDS.split(","), lines)


def job(number: str, submit: str, start: str = "Unknown", **more: str) -> dict[str, str]:
    return {
        "JobID": number, "JobName": "j", "User": "ann", "Partition": "cpu", "QOS": "normal",
        "State": "COMPLETED", "Submit": submit, "Start": start, "End": "Unknown",
        "Elapsed": "00:01:40", "Timelimit": "00:10:00", "AllocNodes": "2", "AllocCPUS": "4",
        "AllocTRES": "cpu=4,gres/gpu=2,mem=8G,node=2", "TotalCPU": "00:00:00", **more,
    }  # fmt: skip


def step(number: str, cpu: str, rss: str = "", usage: str = "", tasks: str = "1") -> dict[str, str]:
    return {
        "JobID": number, "JobName": "s", "State": "COMPLETED", "NTasks": tasks, "TotalCPU": cpu,
        "MaxRSS": rss, "TRESUsageInTot": usage, "Start": "Unknown", "Submit": "Unknown",
        "End": "Unknown", "Elapsed": "00:00:01",
    }  # fmt: skip


DAY = "2024-05-01T"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    lines = [
        job("1", DAY + "10:00:00", DAY + "10:00:30"),
        step("1.batch", "00:10.500", "1048576K"),
        step("1.extern", "00:00:00", "0"),
        step("1.0", "00:01:29", "524288K", tasks="6"),
        step("1.1", "00:00:01", "", "cpu=00:00:01,gres/gpuutil=150,mem=5G"),
        # requeued: the same id, submitted again
        job("2", DAY + "11:00:00", DAY + "11:00:10", State="REQUEUED"),
        step("2.batch", "00:01.000"),
        job("2", DAY + "12:00:00", DAY + "12:01:00"),
        step("2.batch", "00:02.000"),
        # two tasks of an array, two components of a heterogeneous job
        job("3_1", DAY + "13:00:00", DAY + "13:00:00", Elapsed="00:00:00"),
        step("3_1.batch", "00:03.000"),
        job("3_2", DAY + "13:00:00", DAY + "13:00:20", Timelimit="UNLIMITED"),
        step("3_2.batch", "00:04.000", "1K"),
        job("4+0", DAY + "14:00:00", DAY + "14:00:05"),
        step("4+0.batch", "00:05.000"),
        job("4+1", DAY + "14:00:00", DAY + "14:00:05"),
        # waits, without steps and without resources; memory was asked for per CPU
        job("5", DAY + "15:00:00", State="PENDING", Elapsed="00:00:00", AllocTRES="",
            ReqMem="100Mc"),
    ]  # fmt: skip
    return Reader(write(tmp_path_factory.mktemp("runs") / "dump.txt", lines))


def test_jobs_roll_up_their_steps(reader: Reader) -> None:
    found = {(row["job_id"], row["restart"]): row for row in rows(jobs(reader))}
    assert sorted(found) == [
        ("1", 0), ("2", 0), ("2", 1), ("3_1", 0), ("3_2", 0), ("4+0", 0), ("4+1", 0), ("5", 0),
    ]  # fmt: skip
    one = found["1", 0]
    assert one["steps"] == 4
    assert one["cpu_s"] == pytest.approx(10.5 + 0 + 89 + 1)
    assert one["ntasks"] == 6
    assert one["max_rss_bytes"] == 2**30
    # the steps used 1 GiB, 6 tasks x 0.5 GiB, and 5 GiB in total as TRESUsageInTot says
    assert one["mem_used_bytes"] == 5 * 2**30
    assert one["alloc_mem_bytes"] == 8 * 2**30
    assert (one["alloc_nodes"], one["alloc_gpus"], one["wait_s"]) == (2, 2, 30.0)
    # each run of the requeued job has its own steps
    assert [found["2", run]["cpu_s"] for run in (0, 1)] == [1.0, 2.0]
    assert [found["2", run]["state"] for run in (0, 1)] == ["requeued", "completed"]
    assert [found[key, 0]["cpu_s"] for key in ("3_1", "3_2", "4+0", "4+1")] == [3, 4, 5, None]
    # what was never measured is not known
    waits = found["5", 0]
    assert (
        waits["wait_s"] is waits["cpu_s"] is waits["max_rss_bytes"] is waits["alloc_gpus"] is None
    )
    assert waits["req_mem_bytes"] == 4 * 100 * 2**20


def test_efficiency(reader: Reader) -> None:
    found = {(row["job_id"], row["restart"]): row for row in rows(efficiency(reader))}
    one = found["1", 0]
    assert one["cpu_eff"] == pytest.approx(100.5 / (100 * 4))
    assert one["mem_eff"] == pytest.approx(5 / 8)
    assert one["gpu_eff"] == pytest.approx(150 / 200)
    assert one["timelimit_eff"] == pytest.approx(100 / 600)
    assert one["cpu_hours"] == pytest.approx(400 / 3600)
    assert found["2", 1]["mem_eff"] is None  # no MaxRSS is not 0 %
    assert found["3_1", 0]["cpu_eff"] is None  # it did not run
    assert found["3_2", 0]["timelimit_eff"] is None  # no limit
    assert found["3_2", 0]["mem_eff"] == 1024 / (8 * 2**30)


def test_one_run_in_two_dumps_is_one_row(tmp_path: Path) -> None:
    # given a job that was still running when the first dump was taken
    early = write(tmp_path / "early.txt", [job("1", DAY + "10:00:00", DAY + "10:00:30")])
    late = write(
        tmp_path / "late.txt",
        [
            job("1", DAY + "10:00:00", DAY + "10:00:30", End=DAY + "10:02:10"),
            step("1.batch", "00:07.000"),
        ],
    )
    for paths in ((early, late), (late, early)):
        (row,) = rows(jobs(Reader(*paths)))
        assert row["end_time"] == datetime(2024, 5, 1, 10, 2, 10, tzinfo=UTC)
        assert row["cpu_s"] == 7.0


def test_a_job_without_nodes_did_not_start(tmp_path: Path) -> None:
    # given two jobs that were cancelled while they waited, as older versions of sacct print them
    at, ended = DAY + "10:00:00", DAY + "20:00:00"
    line = job("8", at, ended, End=ended, State="CANCELLED by 7", Elapsed="00:00:00")
    idle = line | {"NodeList": "None assigned"}, line | {"JobID": "7", "AllocCPUS": "0"}
    lines = [*idle, job("9", at, DAY + "10:00:10")]
    reader = Reader(write_rows(tmp_path / "dump.txt", [*FIELDS.split(","), "NodeList"], lines))

    # when its wait is asked for
    waits = {row["job_id"]: row["wait_s"] for row in rows(queue_time(reader))}

    # then only the other job has one
    assert waits == {"9": 10.0}
    assert rows(jobs(reader))[0]["start_time"] is None


def test_a_run_in_a_dump_without_clusters_is_that_of_a_dump_with_them(tmp_path: Path) -> None:
    # given a dump with steps, and one with clusters: job 1 on one of them, job 2 on two
    run = [job(number, DAY + "10:00:00", DAY + "10:00:30") for number in ("1", "2")]
    steps = [step("1.batch", "00:07"), step("2.batch", "00:08")]
    lines = [run[0], steps[0], run[1], steps[1]]
    names = [*FIELDS.split(","), "Cluster"]
    named = [run[0] | {"Cluster": "a"}, *(run[1] | {"Cluster": name} for name in "ab")]
    paths = write(tmp_path / "1.txt", lines), write_rows(tmp_path / "2.txt", names, named)

    for both in (paths, paths[::-1]):
        # when their runs are listed
        found = rows(jobs(Reader(*both)))

        # then job 1 is one run, and job 2 may be a third one
        said = [(row["job_id"], row["cluster"], row["cpu_s"]) for row in found]
        assert said == [("1", "a", 7.0), ("2", "a", None), ("2", "b", None), ("2", None, 8.0)]


def test_tasks_that_waited_in_an_earlier_dump_count_once(tmp_path: Path) -> None:
    # given an array that waits, one whose first task ran, and one whose last task was cancelled
    at, ran = DAY + "10:00:00", {"Start": DAY + "11:00:00", "End": DAY + "11:01:40"}
    waits = {"State": "PENDING", "Elapsed": "00:00:00"}
    dumps = [
        [job("7_[1-3]", at, **waits)],
        [job("7_1", at, **ran), job("7_[2-3]", at, **waits)],
        [job("7_3", at, State="CANCELLED"), job("7_[2]", at, **waits), job("7_1", at, **ran)],
    ]
    paths = [write(tmp_path / f"{number}.txt", lines) for number, lines in enumerate(dumps)]

    # when each dump is added to those before it
    found = [
        [(row["job_id"], row["state"]) for row in rows(jobs(Reader(*paths[:count])))]
        for count in (1, 2, 3)
    ]

    # then the row of the waiting tasks gives way to those of its tasks
    first = ("7_1", "completed")
    assert found == [
        [("7_[1-3]", "pending")],
        [first, ("7_[2-3]", "pending")],
        [first, ("7_3", "cancelled"), ("7_[2]", "pending")],
    ]


def test_of_a_step_in_two_dumps_the_most_exact_cpu_time_counts(tmp_path: Path) -> None:
    # given one dump in whole seconds, and one with what sacct rounded there
    run = job("1", DAY + "10:00:00", DAY + "10:00:30", End=DAY + "10:02:10")
    whole = write(tmp_path / "whole.txt", [run, step("1.batch", "00:07"), step("1.0", "00:02")])
    exact = write(tmp_path / "exact.txt", [run, step("1.batch", "00:07.250"), step("1.0", "00:02")])

    found = [rows(jobs(Reader(*paths))) for paths in ((whole, exact), (exact, whole))]

    assert [row["cpu_s"] for (row,) in found] == [9.25, 9.25]


def test_queue_time_and_worst_days(tmp_path: Path) -> None:
    # given jobs of three days, each with the hour in which it started, and one that waits
    days = {"01": ["12:00:00", "12:00:10", "12:08:20"], "02": ["13:00:00"]}
    days["03"] = ["12:00:01", "12:00:02"]
    lines = [
        job(f"{day}{number}", f"2024-05-{day}T12:00:00", f"2024-05-{day}T{start}")
        for day, starts in days.items()
        for number, start in enumerate(starts)
    ]
    lines.append(job("99", "2024-05-04T12:00:00", State="PENDING"))
    reader = Reader(write(tmp_path / "dump.txt", lines))
    per_job = rows(queue_time(reader))
    assert sorted(row["wait_s"] for row in per_job) == [0, 1, 2, 10, 500, 3600]
    # worst first by their mean; on the fourth day no job started
    worst = worst_days(reader).with_columns(pl.col("date").cast(pl.String)).collect()
    names = ("date", "jobs", "mean_wait_s", "median_wait_s", "max_wait_s", "total_wait_s")
    assert worst.select(names).rows() == [
        ("2024-05-02", 1, 3600, 3600, 3600, 3600),
        ("2024-05-01", 3, 170, 10, 500, 510),
        ("2024-05-03", 2, 1.5, 1.5, 2, 3),
    ]
    assert len(rows(worst_days(reader, top=1))) == 1
    assert len(rows(worst_days(reader, top=0))) == 3
    assert rows(worst_days(reader, partition="gpu")) == []
