"""``verify`` beside writers: it alarms nobody without cause, and misses nothing that has one."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crash
import pytest
from commands import harvest_here
from datasets import EACH_FORM, Small, change_a_byte, dump

import harvest
from harvest.dataset import verify as verifying
from harvest.pipeline.rollback import keep_runs
from harvest_jsonl import file


@pytest.fixture(params=EACH_FORM)
def small(tmp_path: Path, request: Any) -> Small:
    """Two states with rejects, of which the first is kept; then an input has changed again."""
    small = Small(tmp_path, request.param).write(a=dump(1, 2), b=dump(3, damaged=1), c=dump(4))
    small.harvest(keep_runs=1)
    small.write(a=dump(1, 2, 5)).harvest()
    return small.write(a=dump(1, 2, 6, 7), b=dump(8, damaged=2))


def verify(small: Small) -> tuple[int, str]:
    done = harvest_here("verify", small.location)
    return done.returncode, done.stdout


def run_until(small: Small, point: str) -> Any:
    """A run that a fault point has suspended."""
    process = crash.start(small.words("--workers", "1"), HARVEST_FAULT=f"{point}:1:stop")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return process
    pytest.skip(f"a run into this form does not pass {point}")


STEPS = (
    "partition.begun",
    "directory.published",
    "file.spliced",
    "commit.published",
    "commit.rejects",
    "kept.file",
    "commit.kept",
    "commit.recorded",
    "manifest.after_rename",
    "history.segment",
    "commit.remembered",
    "directory.remove",
    "file.after_rename",
    "commit.finished",
    "history.forget",
    "kept.forget",
)


@pytest.mark.slow
def test_a_run_that_is_at_work_is_named_and_damage_alone_is_a_problem(small: Small) -> None:
    # given a run that is suspended at one step after the other
    (damaged, *_), passed = small.files(), []
    for step, process in crash.stopped_at_each(small.words("--workers", "1"), STEPS):
        passed.append(step)
        named = f"a run is writing to it: process {process.pid} on "

        # then the run is named, and what it has not finished is no alarm
        code, said = verify(small)
        assert code == 0, (step, said)
        first, last = said.splitlines()
        assert first.startswith(named), step
        assert last.startswith("no problems: ")

        # but a byte of the state in force that has changed is
        if step in ("partition.begun", "commit.published"):
            change_a_byte(damaged)
            code, said = verify(small)
            change_a_byte(damaged)
            assert code == 1
            assert str(damaged) in said
            assert named in said

    # and once it has ended, there is nothing to be left out
    assert {"partition.begun", "commit.published", "commit.finished"} <= set(passed)
    assert len(passed) > 9
    code, said = verify(small)
    assert (code, said.startswith("no problems: ")) == (0, True), said


@pytest.mark.slow
@pytest.mark.parametrize("form", ["file", "gz"])
@pytest.mark.parametrize("ask", ["verify", "read"])
def test_a_commit_may_end_while_its_file_is_looked_for(
    tmp_path: Path, form: str, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a commit whose next file has yet to take its place
    small = Small(tmp_path, form).write(a=dump(1, 2), b=dump(3))
    small.harvest()
    small.write(a=dump(1, 2, 6, 7))
    process = run_until(small, "manifest.after_rename")
    look = file._copy

    def late(*place: Any) -> bool:
        """Look into the file that is there, and let the next one take its place thereupon."""
        found = look(*place)
        if not found and process.poll() is None:
            os.killpg(process.pid, signal.SIGCONT)
            process.wait()
        return found

    monkeypatch.setattr(file, "_copy", late)

    if ask == "read":
        assert small.jobs() == [1, 2, 6, 7, 3]
    else:
        code, said = verify(small)
        assert (code, said.splitlines()[-1].startswith("no problems: ")) == (0, True), said
    assert process.returncode == 0


@pytest.mark.slow
def test_what_a_killed_run_left_is_a_problem(small: Small) -> None:
    process = run_until(small, "manifest.after_rename")
    crash.kill_group(process)
    os.waitpid(process.pid, 0)

    code, said = verify(small)

    assert code == 1, said
    assert "a run is writing" not in said
    # and a repair finishes it
    harvest_here("verify", small.location, "--repair")
    assert verify(small)[0] == 0
    assert small.jobs() == [1, 2, 6, 7, 8, 4]


def while_it_looks(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have somebody else act once the dataset is open and nothing is looked at."""
    ordinary = verifying._byte_problems

    def late(dataset: Any) -> Any:
        monkeypatch.setattr(verifying, "_byte_problems", ordinary)
        act()
        return ordinary(dataset)

    monkeypatch.setattr(verifying, "_byte_problems", late)


CHANGES: dict[str, Callable[[Small], object]] = {
    "a run": lambda small: small.harvest(keep_runs=0),
    "less is kept": lambda small: keep_runs(small.open().sink, 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_it_looks_again_once_another_state_is_in_force(
    small: Small, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    while_it_looks(monkeypatch, lambda: CHANGES[change](small))

    code, said = verify(small)

    assert (code, said.startswith("no problems: ")) == (0, True), said


def test_in_python_a_dataset_that_has_changed_is_to_be_opened_again(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = small.open()
    while_it_looks(monkeypatch, lambda: small.harvest(keep_runs=0))

    with pytest.raises(harvest.DatasetChanged):
        opened.verify()

    assert small.open().verify() == []


def test_a_writer_that_ends_while_it_looks_leaves_no_alarm(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a file beside those in force that is gone as soon as it was seen, and nobody's lock
    for path in small.files():
        (beside := path.with_stem("beside")).write_bytes(b"")
    ordinary = verifying._state_problems

    def late(dataset: Any) -> Any:
        beside.unlink(missing_ok=True)
        return ordinary(dataset)

    monkeypatch.setattr(verifying, "_state_problems", late)

    assert verify(small)[0] == 0
