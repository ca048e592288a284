"""Errors and remarks that lead on, of commands that ask a dataset or make one."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import harvest_here

import harvest

SACCT = "JobID|State|User\n1|COMPLETED|ada\n2|TIMEOUT|tim\n"


def jobs(folder: Path) -> Path:
    """A dataset of two jobs, ada's completed one and tim's, which met its time limit."""
    (folder / "jobs.txt").write_text(SACCT)
    settings = {"slurm": {"timezone": "UTC"}}
    harvest.run(f"slurm:{folder}/jobs.txt", f"parquet:{folder}/out", settings=settings, workers=1)
    return folder / "out"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with this dataset, called ``out``, for several tests to ask."""
    return jobs(tmp_path_factory.mktemp("jobs")).parent


# reports and views of a dataset


def test_what_a_report_lacks_is_said_once_with_what_brings_it(folder):
    done = harvest_here("report", "gpfs.summary", folder / "out")

    assert done.returncode == 1
    assert done.stderr == (
        f"harvest: {folder}/out: report 'gpfs.summary' needs rows that this dataset lacks; "
        "gpfs.file: harvest with the source 'gpfs'\n"
    )


@pytest.mark.parametrize(("kind", "best"), [("view", "slurm.arrays"), ("report", "slurm.summary")])
def test_a_dataset_where_a_name_belongs_is_recognised(folder, kind, best):
    done = harvest_here(kind, "out", cwd=folder)

    assert done.returncode == 2
    assert f"out: this is a dataset, where the name of a {kind} belongs; " in done.stderr
    assert f"write: harvest {kind} slurm." in done.stderr
    assert best in done.stderr


def test_a_dataset_and_a_name_the_wrong_way_round_are_put_right(tmp_path):
    jobs(tmp_path).rename(tmp_path / "my jobs")

    done = harvest_here("view", "my jobs", "slurm.usage", cwd=tmp_path)

    assert done.stderr.endswith("write: harvest view slurm.usage 'my jobs'\n")


# a condition that no row fits


@pytest.mark.parametrize("more", [(), ("--json",), ("-o", "jobs.csv")])
def test_a_condition_that_fits_no_row_is_answered_with_the_values_there_are(folder, more):
    done = harvest_here(
        "view", "slurm.jobs", "out", "--where", "state = 'TIMEOUT'", *more, cwd=folder
    )

    assert done.returncode == 0
    assert done.stderr == (
        "harvest: no row of slurm.jobs fits state = 'TIMEOUT': "
        "state has the values timeout, completed\n"
    )


def test_the_values_of_a_column_are_named_up_to_a_dozen(tmp_path):
    rows = [f"{n}|COMPLETED|user{n:02}" for n in range(20)] + ["99|COMPLETED|user07"]
    (tmp_path / "jobs.txt").write_text("\n".join(["JobID|State|User", *rows, ""]))
    harvest.run(f"slurm:{tmp_path}/jobs.txt", f"parquet:{tmp_path}/out", workers=1)

    done = harvest_here("view", "slurm.jobs", "out", "--where", "\"user\" = 'USER13'", cwd=tmp_path)

    # the one that differs in capitals alone, then the most frequent one, then by name
    assert "user has the values user13, user07, user00, user01, " in done.stderr
    assert done.stderr.endswith("user10 and 8 others\n")


@pytest.mark.parametrize(
    "where", ["state = 'timeout' and \"user\" = 'ada'", "elapsed_s > 5", "state = 'timeout'"]
)
def test_nothing_is_said_where_each_value_occurs_or_none_is_text(folder, where):
    done = harvest_here("view", "slurm.jobs", "out", "--where", where, cwd=folder)

    assert (done.returncode, done.stderr) == (0, "")


# rejects that are cut


def test_a_table_of_rejects_marks_what_it_cuts(tmp_path):
    (tmp_path / "jobs.txt").write_text(SACCT + "3|FAILED|" + "é" * 60 + "|more|fields\n4|a|b|c\n")
    harvest.run(f"slurm:{tmp_path}/jobs.txt", f"parquet:{tmp_path}/out", workers=1)

    table = harvest_here("rejects", "out", cwd=tmp_path, COLUMNS="250").stdout
    as_json = harvest_here("rejects", "out", "--json", cwd=tmp_path).stdout

    assert "  3|FAILED|" + "é" * 51 + "…\n" in table
    assert "  4|a|b|c\n" in table
    assert "… marks shortened text; --json shows all that was kept\n" in table
    assert json.loads(as_json.splitlines()[0])["raw"] == "3|FAILED|" + "é" * 60 + "|more|fields"


# what can be asked of what a look has found


def test_a_look_ends_with_the_best_commands_for_what_it_found(tmp_path):
    (tmp_path / "jobs.txt").write_text(SACCT)

    shown = harvest_here("look", tmp_path).stdout
    commands = shown.partition("then:\n\n")[2].splitlines()

    assert commands[:3] == [
        "  harvest findings out",
        "  harvest report slurm.summary out",
        "  harvest report slurm.usage out",
    ]
    assert commands[-1] == "  harvest show out"
    assert len(commands) == 8
    assert not [each for each in commands if "ncem." in each]


# a run that says nothing


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (SACCT, 0, ""),
        (SACCT + "4|a|b|c\n", 3, "1 input unit could not be read: harvest rejects out\n"),
        (None, 1, "{}/jobs.txt: no such file or directory; check the location\n"),
    ],
    ids=["all is well", "rejects", "failed"],
)
def test_a_quiet_run_says_only_what_went_wrong(tmp_path, text, code, said):
    if text is not None:
        (tmp_path / "jobs.txt").write_text(text)

    done = harvest_here("run", "-q", "-s", "slurm:jobs.txt", "-k", "parquet:out", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == (said and f"harvest: {said.format(tmp_path)}")


@pytest.mark.parametrize("option", ["--json", "--dry-run", "--print-config"])
def test_what_prints_and_what_does_not_exclude_each_other(tmp_path, option):
    done = harvest_here("run", "-q", option, "-s", "slurm:a", "-k", "parquet:out", cwd=tmp_path)

    assert done.returncode == 2
    assert f"{option} and --quiet exclude each other" in done.stderr


# what a killed command left


KILLING = '''"""A view whose text is never done."""
import os, signal
import harvest

def text(table):
    yield "the first row"
    os.kill(os.getpid(), signal.SIGKILL)

VIEW = harvest.View(
    name="killing.jobs", doc="Jobs.", requires=("slurm.job",), text=text,
    build=lambda dataset: dataset["slurm.job"],
)
'''


@pytest.mark.slow
def test_what_a_killed_view_left_goes_at_the_next_call(tmp_path):
    jobs(tmp_path)
    (tmp_path / "killing.py").write_text(KILLING)
    command = [sys.executable, "-m", "harvest"]
    killed = subprocess.run(
        [*command, "--plugin", "killing.py", "view", "killing.jobs", "out", "-o", "all.txt"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (left,) = tmp_path.glob(".*.tmp")

    done = harvest_here("view", "slurm.jobs", "out", "-o", "all.txt", cwd=tmp_path)

    assert done.returncode == 0
    assert not left.exists()
    assert not list(tmp_path.glob(".*"))
    assert "timeout" in (tmp_path / "all.txt").read_text()
