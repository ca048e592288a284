"""Readers beside writers: an answer is of one whole state, or says that it has changed."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crash
import pytest
from commands import harvest_here
from datasets import EACH_FORM, Small, dump

import harvest
from harvest.commands import asking
from harvest.dataset import Dataset
from harvest.errors import UsageError, error_within
from harvest_jsonl import file


@pytest.fixture(params=EACH_FORM)
def small(tmp_path: Path, request: Any) -> Small:
    small = Small(tmp_path, request.param).write(a=dump(1, 2), b=dump(3, damaged=1), c=dump(4))
    small.harvest()
    return small


def change(small: Small, **options: Any) -> None:
    """Commit a state that shares some rows with the one before, and has moved them."""
    small.write(a=dump(1, 2, 7, 8, 9), b=dump(6, damaged=2)).harvest(**options)


def jobs(dataset: Dataset) -> list[int]:
    frame = dataset["slurm.job"].sort("origin", "position").collect()
    return [int(number) for number in frame["job_id"].to_list()]


def test_a_dataset_that_was_opened_before_a_commit_is_read_as_it_was(small: Small) -> None:
    opened = small.open()
    change(small)

    assert jobs(small.open()) == [1, 2, 7, 8, 9, 6, 4]
    assert jobs(opened) == [1, 2, 3, 4]
    assert len(list(opened.rejects())) == 1
    (count,) = opened.sql("select count(*) as n from slurm.job")["n"].to_list()
    assert count == 4


READS: dict[str, Callable[[Dataset], Any]] = {
    "rows": jobs,
    "a view": lambda opened: opened.view("events").collect(),
    "SQL": lambda opened: opened.sql("select * from slurm.job"),
    "rejects": lambda opened: list(opened.rejects()),
}


@pytest.mark.parametrize("read", READS)
def test_a_state_that_is_not_kept_any_more_is_said_to_have_changed(small: Small, read: str) -> None:
    opened = small.open()
    change(small, keep_runs=0)

    with pytest.raises(harvest.DatasetChanged, match="changed since it was opened; open it again"):
        READS[read](opened)


@pytest.mark.parametrize("read", [name for name in READS if name != "rejects"])
def test_damage_is_not_taken_for_a_change(small: Small, read: str) -> None:
    for path in small.files():
        path.unlink()

    with pytest.raises(Exception) as caught:
        READS[read](small.open())
    assert not isinstance(caught.value, harvest.DatasetChanged)


def test_a_wrong_query_is_not_taken_for_a_change(small: Small) -> None:
    opened = small.open()
    change(small)
    with pytest.raises(UsageError):
        opened.sql("select nothing from slurm.job")


@pytest.mark.parametrize("small", ["file", "gz"], indirect=True)
def test_a_commit_while_a_file_is_looked_for_leaves_the_rows_as_they_were(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a file that another of the same size replaces once it is found
    opened = small.open()
    ordinary = file.JsonlFile._holding

    def late(self: file.JsonlFile, files: Any) -> Any:
        monkeypatch.setattr(file.JsonlFile, "_holding", ordinary)
        found = ordinary(self, files)
        small.write(a=dump(8, 9), b=dump(7, damaged=1)).harvest()
        return found

    monkeypatch.setattr(file.JsonlFile, "_holding", late)

    assert jobs(opened) == [1, 2, 3, 4]
    assert jobs(small.open()) == [8, 9, 7, 4]


@pytest.mark.slow
@pytest.mark.parametrize("small", ["file", "gz"], indirect=True)
def test_a_frame_is_read_though_a_commit_ends_that_leaves_the_rows_in_their_place(
    small: Small,
) -> None:
    # given a commit of the same rows whose next file has yet to take its place
    words = small.words("--force", "--workers", "1")
    process = crash.start(words, HARVEST_FAULT="manifest.after_rename:1:stop")
    crash.wait_until_stopped(process)
    frame = small.open()["slurm.job"]

    # when it takes it
    os.killpg(process.pid, signal.SIGCONT)
    process.communicate()

    assert sorted(frame.collect()["job_id"].cast(int).to_list()) == [1, 2, 3, 4]


QUERY = "select cast(job_id as int) as n from slurm.job order by origin, position"
COMMANDS = {
    "query": (["query", "D", QUERY, "--json"], [1, 2, 7, 8, 9, 6, 4], "n"),
    "view": (["view", "events", "D", "--json"], [2, 3, 4, 5, 6, 2, 2], "position"),
    "rejects": (["rejects", "D", "--json"], [3, 4], "position"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_answers_from_the_next_state_where_its_own_is_gone(
    small: Small, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given that another state is put in force between opening the dataset and reading it
    ordinary = asking.open_dataset

    def open_and_change(location: Path) -> Dataset:
        opened = ordinary(location)
        monkeypatch.setattr(asking, "open_dataset", ordinary)
        change(small, keep_runs=0)
        return opened

    monkeypatch.setattr(asking, "open_dataset", open_and_change)
    words, expected, column = COMMANDS[command]
    done = harvest_here(*(small.location if word == "D" else word for word in words))

    text = done.stdout
    rows = json.loads(text) if text.startswith("[") else list(map(json.loads, text.splitlines()))
    assert sorted(row[column] for row in rows) == sorted(expected)


# --- errors while rows are read -------------------------------------------------------------------

MEETING = {
    "view": ("view", "events"),
    "view to a file": ("view", "events", "-o", "rows.csv"),
    "query": ("query", 'SELECT * FROM "slurm.job"'),
}


@pytest.mark.parametrize("form", ["jsonl", "file"])
@pytest.mark.parametrize("command", MEETING)
def test_a_damaged_file_is_a_plain_error(tmp_path: Path, form: str, command: str) -> None:
    # given a dataset whose file ends too early
    small = Small(tmp_path, form).write(a=dump(*range(50)))
    small.harvest()
    (file,) = small.files()
    file.write_bytes(file.read_bytes()[:-100])

    # then a command that meets it while it reads says so in a line, with exit code 1
    name, first, *rest = MEETING[command]
    arguments = [small.location, first] if name == "query" else [first, small.location, *rest]
    done = harvest_here(name, *arguments, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "the file ends" in done.stderr
    assert str(file) in done.stderr
    assert "unexpected" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "exception" not in done.stderr


def test_an_error_that_repeats_none_of_ours_stays_what_it_is() -> None:
    assert error_within(ValueError("ComputeError: no such column: x")) is None
    told = error_within(ValueError("caught, exception: UsageError: a: b; c"))
    assert isinstance(told, harvest.UsageError)
    assert str(told) == "a: b; c"
