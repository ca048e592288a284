"""One job in full: its lines are those of Slurm's seff, computed here from what sacct printed."""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as drawn
from hypothesis import strategies as st
from slurm_reader import Reader, clock, write_rows, zone_of
from typer.testing import CliRunner

import harvest
from harvest import UsageError
from harvest_slurm.commands import app
from harvest_slurm.job import listing
from harvest_slurm.job.find import find
from harvest_slurm.job.words import as_json, in_words, size

FIELDS = (
    "JobID|JobIDRaw|Cluster|User|Group|State|ExitCode|Submit|Start|End|Elapsed|Timelimit|AllocNodes|"
    "AllocCPUS|ReqMem|AllocTRES|NTasks|TotalCPU|MaxRSS|AveRSS|TRESUsageInTot|NodeList"
)


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    return write_rows(path, FIELDS.split("|"), rows)


def job(number: str, **more: str) -> dict[str, str]:
    """An hour on four CPUs of two nodes with 8 GiB, of ann on the cluster c."""
    return {
        "JobID": number, "JobIDRaw": number.split("_")[0], "Cluster": "c", "User": "ann",
        "Group": "staff", "State": "COMPLETED", "ExitCode": "0:0", "Submit": "2024-03-01T10:00:00",
        "Start": "2024-03-01T11:00:00", "End": "2024-03-01T12:00:00", "Elapsed": "01:00:00",
        "Timelimit": "02:00:00", "AllocNodes": "2", "AllocCPUS": "4", "ReqMem": "4Gn",
        "AllocTRES": "cpu=4,mem=8G,node=2", "TotalCPU": "00:00:00", "NodeList": "n[1-2]", **more,
    }  # fmt: skip


def step(number: str, cpu: str = "00:00:00", **more: str) -> dict[str, str]:
    return {
        "JobID": number, "Cluster": "c", "State": "COMPLETED", "ExitCode": "0:0", "NTasks": "1",
        "Submit": "2024-03-01T11:00:00", "Start": "2024-03-01T11:00:00", "Elapsed": "01:00:00",
        "TotalCPU": cpu, **more,
    }  # fmt: skip


def lines_of(reader: Reader, wanted: str, **which: Any) -> list[str]:
    return list(in_words(find(reader, wanted, **which), zone_of(reader, None)))


# what seff (contribs/seff, version 2.1) makes of the same records


def perl_size(kilobytes: float) -> str:
    """``kbytes2str`` of seff; its logarithm is taken from exact powers here."""
    if kilobytes == 0:
        return "0.00 MB"
    power = max(p for p in range(6) if p == 0 or kilobytes >= 1024**p)
    return f"{kilobytes / 1024**power:.2f} {'KMGTPE'[power]}B"


def seff(number: str, cpus: int, nodes: int, elapsed: int, gib: int, steps: list[Any]) -> list[str]:
    """steps: milliseconds of CPU, and kilobytes of all tasks or None, of each."""
    gathered = any(ms for ms, _ in steps)
    micros = [(ms // 1000, ms % 1000 * 1000) for ms, _ in steps]
    used = sum(s for s, _ in micros) + int(sum(u for _, u in micros) / 1e6 + 0.5)
    core = elapsed * cpus
    memory = max((kb for _, kb in steps if kb is not None), default=None)
    given = gib * 2**20
    found = [f"Job ID: {number}", "Cluster: c", "User/Group: ann/staff",
             "State: COMPLETED (exit code 0)"]  # fmt: skip
    found += ["Cores: 1"] if cpus == 1 else [f"Nodes: {nodes}", f"Cores per node: {cpus // nodes}"]
    found += [
        f"CPU Utilized: {clock(used) if gathered else 'unknown'}",
        f"CPU Efficiency: {f'{used / core * 100:.2f}%' if gathered else 'unknown'} of "
        f"{clock(core)} core-walltime",
        f"Job Wall-clock time: {clock(elapsed)}",
    ]
    # what was not gathered is 0 to seff, and not known here
    share = "unknown" if memory is None else f"{memory / given * 100:.2f}%"
    return [
        *found,
        f"Memory Utilized: {'unknown' if memory is None else perl_size(memory)}",
        f"Memory Efficiency: {share} of {perl_size(given)} ({perl_size(given / nodes)}/node)",
    ]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@drawn(
    cpus=st.integers(1, 512),
    nodes=st.integers(1, 8),
    elapsed=st.integers(1, 10**6),
    gib=st.integers(1, 4096),
    steps=st.lists(
        st.tuples(st.integers(0, 10**9), st.none() | st.integers(1, 2**40)), min_size=1, max_size=4
    ),
)
def test_the_first_lines_are_those_of_seff(tmp_path, cpus, nodes, elapsed, gib, steps):
    rows = [
        job(
            "7", Elapsed=clock(elapsed), AllocNodes=str(nodes), AllocCPUS=str(cpus),
            AllocTRES=f"cpu={cpus},mem={gib}G,node={nodes}",
        )
    ]  # fmt: skip
    rows += [
        step(
            f"7.{number}",
            f"{clock(ms // 1000)}.{ms % 1000:03}",
            TRESUsageInTot="" if kb is None else f"mem={kb}K",
        )
        for number, (ms, kb) in enumerate(steps)
    ]
    reader = Reader(write(tmp_path / "dump.txt", rows), timezone="UTC")
    lines = lines_of(reader, "7")
    head = lines[: lines.index("")]

    assert head == seff("7", cpus, nodes, elapsed, gib, steps)


@drawn(st.integers(0, 2**60))
def test_sizes_keep_their_meaning(count):
    """The text is the amount, to half of its last digit."""
    number, unit = size(count).split(" ")
    scale = 1024 ** ("KMGTPE".index(unit[0]) + 1)
    assert math.isclose(float(number) * scale, count, abs_tol=0.005 * scale + 1e-6, rel_tol=1e-9)


# what seff does not print


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    rows = [
        job("1", State="FAILED", ExitCode="3:0", AllocTRES="cpu=4,gres/gpu=2,mem=8G,node=2"),
        step("1.batch", "00:00:01", State="FAILED", ExitCode="3:0", MaxRSS="1024K"),
        step("1.extern"),
        step("1.0", "01:00:00", MaxRSS="1048576K", AveRSS="524288K", NTasks="4"),
        step("1.1", "00:30:00", State="FAILED", ExitCode="0:9", NodeList="n2",
             TRESUsageInTot="gres/gpuutil=150,gres/gpumem=2G,mem=1M"),
        # requeued: its node failed, then it ran into its limit
        job("2", State="NODE_FAIL", End="2024-03-01T11:10:00", Elapsed="00:10:00"),
        job("2", State="TIMEOUT", ExitCode="0:15", Submit="2024-03-01T11:10:00"),
        # three tasks of an array, the fourth waits; one failed, and of one the use is not known
        job("5_1", JobIDRaw="6"), step("5_1.batch", "02:00:00", MaxRSS="1048576K"),
        job("5_2", JobIDRaw="7", State="FAILED", ExitCode="1:0", Elapsed="00:30:00"),
        step("5_2.batch", "02:00:00", MaxRSS="2097152K"),
        job("5_3", JobIDRaw="8", Elapsed="03:00:00", TotalCPU="00:00:00"),
        job("5_[4%1]", JobIDRaw="5", State="PENDING", Start="Unknown", End="Unknown",
            Elapsed="00:00:00", AllocTRES="", AllocCPUS="0", AllocNodes="0", NodeList=""),
        # a heterogeneous job, and one with an id that another cluster has too
        job("9+0", JobIDRaw="9"), step("9+0.batch", "04:00:00"), job("9+1", JobIDRaw="10"),
        job("20"), job("20", Cluster="d", AllocCPUS="1", AllocNodes="1"),
        job("21", State="RUNNING", End="Unknown"),
        # memory of the largest task alone: how many there were was not recorded
        job("1022"), step("1022.batch", MaxRSS="1024K"), step("1022.0", MaxRSS="6G", NTasks=""),
    ]  # fmt: skip
    return Reader(
        write(tmp_path_factory.mktemp("jobs") / "dump.txt", rows), timezone="Europe/Zurich"
    )


def test_a_failed_job_says_where_it_failed_how_it_waited_and_what_its_steps_used(reader):
    lines = lines_of(reader, "1")
    below = lines[lines.index("") + 1 :]

    assert lines[3] == "State: FAILED (exit code 3)"
    # four tasks of up to 1 GiB: not what was measured
    assert "Memory Utilized: 4.00 GB (estimated maximum)" in lines
    assert "Memory Efficiency: 50.00% of 8.00 GB (4.00 GB/node)" in lines
    assert [line for line in lines if line.startswith("The task which")] == [
        "The task which had the largest memory consumption differs by 200.00% from the average "
        "task max memory consumption"
    ]
    assert "Submitted: 2024-03-01 10:00:00 CET, waited 01:00:00" in below
    assert "Time limit: 02:00:00, 50.00% used" in below
    assert "GPUs: 2, used 75.00%" in below
    assert "GPU memory: 2.00 GB" in below
    assert "Steps: 4" in below
    assert below[-2:] == [
        "Failed in: step 1, FAILED (exit code 0, signal 9) on n2",
        "Failed in: step batch, FAILED (exit code 3)",
    ]


def test_without_the_number_of_tasks_memory_is_at_least_that_of_the_largest(reader):
    lines = lines_of(reader, "1022")
    assert "Memory Utilized: at least 6.00 GB" in lines
    assert "Memory Efficiency: at least 75.00% of 8.00 GB (4.00 GB/node)" in lines
    assert "at least 6.00 GB" in lines[-2]


def test_of_a_requeued_job_the_last_run_is_shown_and_the_others_are_named(reader):
    last = lines_of(reader, "2")
    assert "State: TIMEOUT (exit code 0, signal 15)" in last
    assert "Another run (--restart 0): NODE_FAIL (exit code 0) after 00:10:00" in last
    first = lines_of(reader, "2", restart=0)
    assert "State: NODE_FAIL (exit code 0)" in first
    with pytest.raises(UsageError, match="job 2 has no run 2; write --restart 0 to 1"):
        find(reader, "2", restart=2)


def test_an_array_is_summed_up_and_its_tasks_have_ids(reader):
    lines = lines_of(reader, "5")
    assert lines == [
        "Array Job ID: 5",
        "Cluster: c",
        "User/Group: ann/staff",
        "Tasks: 4: 2 COMPLETED, 1 FAILED, 1 PENDING",
        # tasks 1 and 2, four CPUs for 60 and for 30 minutes; of task 3 the use is not known
        "CPU Utilized: 04:00:00",
        "CPU Efficiency: 66.67% of 06:00:00 core-walltime",
        "Wall-clock time of a task: median 01:00:00, longest 03:00:00 (5_3)",
        "Memory Utilized by the largest task (5_2):",
        "  Memory Utilized: 2.00 GB",
        "  Memory Efficiency: 25.00% of 8.00 GB (4.00 GB/node)",
        "Unknown CPU time of 1 task of 4.",
        "Unknown memory of 1 task of 4.",
        "Not completed: 2",
        "  5_2  FAILED (exit code 1)  00:30:00",
        "  5_[4%1]  PENDING (exit code 0)  00:00:00",
    ]
    task = lines_of(reader, "5_2")
    assert task[:2] == ["Job ID: 7", "Array Job ID: 5_2"]
    assert lines_of(reader, "7") == task  # as seff takes it
    with pytest.raises(UsageError, match="5 is several jobs"):
        find(reader, "5", restart=0)


def test_a_heterogeneous_job_is_the_sum_of_its_components(reader):
    lines = lines_of(reader, "9")
    assert lines[0] == "Het Job ID: 9"
    assert "Components: 2: 2 COMPLETED" in lines
    assert "CPU Efficiency: 100.00% of 04:00:00 core-walltime" in lines
    assert "Het Job ID: 9+1" in lines_of(reader, "9+1")


def test_jobs_that_wait_or_run_say_so(reader):
    assert "Efficiency not available for jobs in the PENDING state." in lines_of(reader, "5_[4%1]")
    running = lines_of(reader, "21")
    assert "State: RUNNING" in running
    assert "CPU Utilized: unknown" in running
    assert "CPU Efficiency: unknown of 04:00:00 core-walltime" in running
    assert "WARNING: the job has not ended: its use is unknown until then." in running


def test_an_id_that_two_clusters_have_is_asked_for(reader):
    with pytest.raises(UsageError, match="several clusters have a job 20: c, d; write --cluster c"):
        find(reader, "20")
    assert "Cores: 1" in lines_of(reader, "20", cluster="d")
    assert "Cores per node: 2" in lines_of(reader, "20", cluster="c")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("22", "has no job 22; the nearest are 21, 20, 9+0, 9+1, 5_[4%1]"),
        ("5_9", "has no job 5_9; the nearest are 5_3, 5_2, 5_1, "),
        ("1.0", "'1.0' is not a job id; write 123, 123_4 for a task"),
        ("ann", "'ann' is not a job id"),
        ("", "is not a job id"),
    ],
)
def test_a_wrong_or_unknown_id_is_an_error_with_what_to_do(reader, wanted, message):
    with pytest.raises(UsageError) as error:
        find(reader, wanted)
    assert message in str(error.value)


def test_json_holds_the_values_and_all_steps(reader):
    found = as_json(find(reader, "1"))
    assert (found["cpu_eff"], found["mem_eff"]) == (pytest.approx(5401 / 14400), 0.5)
    assert [s["step_id"] for s in found["steps"]] == ["0", "1", "batch", "extern"]
    array = as_json(find(reader, "5"))
    assert (array["kind"], array["longest"], array["cpu_unknown"]) == ("array", "5_3", 1)
    assert [job["job_id"] for job in array["jobs"]] == ["5_1", "5_2", "5_3", "5_[4%1]"]


# one line a job: the command as users type it, on what a source wrote

HEADER = "JobID|JobName|User|State|Submit|Start|End|Elapsed|Timelimit|AllocCPUS|TotalCPU"


def row(job, state, used, day=1, name="run"):
    when, end = (f"2024-05-{day:02}T{hour}:00:00" for hour in (10, 11))
    return f"{job}|{name}|ann|{state}|{when}|{when}|{end}|01:00:00|02:00:00|1|{used}"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("listed")
    rows = [
        row(1, "COMPLETED", "00:54:00"),
        row(2, "FAILED", "00:06:00", day=2, name="a\x1b[31m very long name, longer than a line"),
        row("3_1", "COMPLETED", "00:30:00", day=3),
        row("3_2", "CANCELLED by 7", "00:30:00", day=3),
    ]
    (folder / "dump.txt").write_text("\n".join([HEADER, *rows, ""]))
    harvest.run(f"slurm:{folder / 'dump.txt'}", f"parquet:{folder / 'out'}", workers=1)
    return str(folder / "out")


def said(*arguments, command="jobs"):
    result = CliRunner().invoke(app, [command, *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout.splitlines()


def test_the_command_prints_one_job(dataset):
    lines = said("1", dataset, command="job")
    assert "CPU Efficiency: 90.00% of 01:00:00 core-walltime" in lines
    assert json.loads("\n".join(said("1", dataset, "--json", command="job")))["cpu_eff"] == 0.9
    with pytest.raises(UsageError, match="the dataset has no job 8; the nearest are 3_1, "):
        said("8", dataset, command="job")


def test_a_job_is_a_line_of_what_it_used(dataset):
    lines = said(dataset)
    assert lines[0].split() == ["JobID", "State", "Elapsed", "TimeEff", "CPUEff", "User", "Name"]
    assert lines[1].split() == ["1", "COMPLETED", "01:00:00", "50.0%", "90.0%", "ann", "run"]
    assert len(lines) == 5
    assert "\x1b" not in "".join(lines)


def test_widths_are_taken_once_a_column(monkeypatch):
    # given 200 jobs, of which only ids, states, users and names are recorded
    row = dict.fromkeys(("elapsed_s", "timelimit_eff", "cpu_eff", "mem_eff", "gpu_eff"))
    rows = [{**row, "job_id": str(9 + n), "state": "failed", "user": "ann", "name": "run"}
            for n in range(200)]  # fmt: skip
    taken = []
    monkeypatch.setattr(listing, "max", lambda v: taken.append(v) or max(v), raising=False)
    # when they are listed, then each column is as wide as its widest, looked for once a column
    first = [cells[0][0] for cells in listing.lines(pl.DataFrame(rows))]
    assert first == ["JobID", *(f"{9 + n:<5}" for n in range(200))]
    assert len(taken) <= 5  # id, state, elapsed, user, name


def test_colours_are_those_of_reportseff(dataset):
    lines = said(dataset, "--color")
    red, green, yellow = "\x1b[31m", "\x1b[32m", "\x1b[33m"
    assert f"{green}COMPLETED" in lines[1]
    assert f"{green} 90.0%" in lines[1]
    assert f"{red}FAILED" in lines[2]
    assert f"{red} 10.0%" in lines[2]
    assert f"{yellow}CANCELLED" in lines[4]
    assert "50.0%\x1b" not in lines[3]
    assert "a\\x1b[31m very long na" in lines[2]  # what is in a name colours nothing


@pytest.mark.parametrize(
    ("options", "jobs"),
    [
        (["--state", "failed"], ["2"]),
        (["--state", "FAILED,cancelled"], ["2", "3_2"]),
        (["--set", "from=2024-05-02", "--set", "to=2024-05-02"], ["2"]),
        (["3"], ["3_1", "3_2"]),
        (["3_2", "1"], ["1", "3_2"]),
    ],
)
def test_jobs_are_chosen_by_id_state_and_period(dataset, options, jobs):
    assert [line.split()[0] for line in said(dataset, *options)[1:]] == jobs
    assert [json.loads(line)["job_id"] for line in said(dataset, *options, "--json")] == jobs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["9"], "no job 9 among the chosen ones"),
        (["--state", "bad"], "bad: no such state"),
        (["--set", "year=2023"], "it has jobs from 2024-05-01 to 2024-05-03"),
        (["--set", "year"], "'year' is not a setting; write --set KEY=VALUE"),
    ],
)
def test_what_there_is_not_is_refused(dataset, options, message):
    with pytest.raises(UsageError, match=message):
        said(dataset, *options)
