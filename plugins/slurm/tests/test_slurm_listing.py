"""One line a job: the command as users type it, on what a source wrote."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import harvest
from harvest import UsageError
from harvest_slurm.commands import app

HEADER = "JobID|JobName|User|State|Submit|Start|End|Elapsed|Timelimit|AllocCPUS|TotalCPU"


def row(job, state, used, day=1, name="run"):
    when, end = (f"2024-05-{day:02}T{hour}:00:00" for hour in (10, 11))
    return f"{job}|{name}|ann|{state}|{when}|{when}|{end}|01:00:00|02:00:00|1|{used}"


@pytest.fixture
def dataset(tmp_path):
    rows = [
        row(1, "COMPLETED", "00:54:00"),
        row(2, "FAILED", "00:06:00", day=2, name="a\x1b[31m very long name, longer than a line"),
        row("3_1", "COMPLETED", "00:30:00", day=3),
        row("3_2", "CANCELLED by 7", "00:30:00", day=3),
    ]
    (tmp_path / "dump.txt").write_text("\n".join([HEADER, *rows, ""]))
    harvest.run(f"slurm:{tmp_path / 'dump.txt'}", f"parquet:{tmp_path / 'out'}", workers=1)
    return str(tmp_path / "out")


def said(*arguments):
    result = CliRunner().invoke(app, ["jobs", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout.splitlines()


def test_a_job_is_a_line_of_what_it_used(dataset):
    lines = said(dataset)
    assert lines[0].split() == ["JobID", "State", "Elapsed", "TimeEff", "CPUEff", "User", "Name"]
    assert lines[1].split() == ["1", "COMPLETED", "01:00:00", "50.0%", "90.0%", "ann", "run"]
    assert len(lines) == 5
    assert "\x1b" not in "".join(lines)


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
        (["9"], "no job 9 among those that are chosen"),
        (["--state", "bad"], "bad: no such state"),
        (["--set", "year=2023"], "it holds jobs from 2024-05-01 to 2024-05-03"),
        (["--set", "year"], "'year' is not a setting; write --set KEY=VALUE"),
    ],
)
def test_what_there_is_not_is_refused(dataset, options, message):
    with pytest.raises(UsageError, match=message):
        said(dataset, *options)
