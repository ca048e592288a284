"""The engine ``local``: worker processes of its own, which end with the run."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import worker_functions as work
from eventually import eventually

from harvest.engines import pool
from harvest.errors import HarvestError, TooManyRejects, UsageError, WorkerLost

pytestmark = pytest.mark.slow  # each starts processes

NAME = "HARVEST_TEST_OF_WORKERS"
SUPPORT = str(Path(work.__file__).parent)


def ran(function, tasks, **options):
    return list(pool.apply(function, tasks, workers=2, **options))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_workers_are_processes_with_the_environment_and_the_directory_of_now(monkeypatch, tmp_path):
    for value in ("first", None):
        place = tmp_path / str(value)
        place.mkdir()
        monkeypatch.chdir(place)
        if value is None:
            monkeypatch.delenv(NAME)
        else:
            monkeypatch.setenv(NAME, value)

        found = ran(work.told_of_itself, [NAME] * 4)

        assert {(each["variable"], each["directory"]) for each in found} == {(value, str(place))}
        assert os.getpid() not in {each["pid"] for each in found}
        assert not any(each["libraries"] for each in found)


def test_workers_import_from_where_this_process_does_alone(monkeypatch, tmp_path):
    library, here = tmp_path / "library", tmp_path / "here"
    library.mkdir()
    (library / "module_of_this_test.py").write_text("def same(task, report):\n    return task\n")
    here.mkdir()
    (here / "pickle.py").write_text("raise SystemExit('not this one')")
    monkeypatch.setattr(sys, "path", [str(library), *filter(None, sys.path)])
    monkeypatch.chdir(here)
    import module_of_this_test

    assert ran(module_of_this_test.same, ["a", "a"]) == ["a", "a"]


# --- what goes to and fro -------------------------------------------------------------------------


def test_reports_arrive_while_the_work_goes_on():
    reports = []

    assert sorted(ran(work.reporting, [3, 4], on_progress=reports.append)) == [3, 4]

    assert sorted(reports) == [0, 0, 1, 1, 2, 2, 3]


def test_an_error_is_raised_as_it_is_with_where_it_comes_from():
    with pytest.raises(TooManyRejects, match="more than 3 rejects") as caught:
        ran(work.refused, [1, 1])

    assert (caught.value.where, caught.value.remedy) == ("file 1", "look")
    (note,) = caught.value.__notes__
    assert "in a worker process" in note
    assert "in refused" in note


def test_an_error_that_cannot_travel_is_raised_by_its_text():
    with pytest.raises(RuntimeError, match="OfTwo: one and two"):
        ran(work.odd, [1, 2])


def test_what_workers_cannot_load_is_said_with_what_to_do():
    with pytest.raises(HarvestError, match="No module named 'package_of_another_environment'") as e:
        ran(work.doubled, [work.OnlyHere(), work.OnlyHere()])
    assert "importable" in (e.value.remedy or "")


def test_what_workers_print_comes_out_on_standard_error(capfd):
    ran(work.chatty, ["first", "second"])

    out, err = capfd.readouterr()
    assert out == ""
    assert sorted(err.splitlines()) == [
        "first said", "first warned", "second said", "second warned",
    ]  # fmt: skip


def test_tasks_are_taken_here_once_each_in_their_order_and_while_others_are_worked_on():
    prepared = []

    def prepare(number):
        prepared.append((number, os.getpid()))
        return number + 100

    results = pool.apply(work.doubled, map(prepare, range(1000)), workers=2)
    first = next(results)
    then = len(prepared)
    everything = sorted([first, *results])

    assert then < 1000
    assert prepared == [(number, os.getpid()) for number in range(1000)]
    assert everything == [2 * (number + 100) for number in range(1000)]


# --- workers that are lost ------------------------------------------------------------------------


def test_a_killed_worker_is_reported_with_what_to_do():
    with pytest.raises(WorkerLost, match=r"a worker process was killed .*memory") as caught:
        ran(work.deadly, [1, 2])
    assert "run again" in (caught.value.remedy or "")


def test_a_worker_that_ends_by_itself_is_reported_with_its_exit_code():
    with pytest.raises(WorkerLost, match="a worker process ended with exit code 7") as caught:
        ran(work.leaving, [7, 7])
    assert "killed" not in str(caught.value)


def test_a_worker_that_dies_at_start_is_reported_with_what_it_printed(monkeypatch, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'libpython: not found' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))

    with pytest.raises(HarvestError, match="a worker process could not start") as caught:
        ran(work.doubled, [1, 2])

    assert "exit code 3" in str(caught.value)
    assert "libpython: not found" in str(caught.value)
    assert "memory" not in str(caught.value)


def test_workers_are_gone_when_the_results_are_given_up(tmp_path):
    pids = tmp_path / "pids"
    results = pool.apply(work.endless_but_first, [str(pids)] * 3, workers=2)

    next(results)
    eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2, "both work on")
    workers = [int(pid) for pid in pids.read_text().split()]
    results.close()

    assert not any(map(alive, workers))


def test_workers_do_not_outlive_a_process_that_is_killed_alone(tmp_path):
    told = tmp_path / "pids"
    code = (
        "from harvest.engines import pool\n"
        "import worker_functions as work\n"
        f"list(pool.apply(work.endless, [{str(told)!r}] * 2, workers=2))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=SUPPORT)
    try:
        eventually(lambda: told.exists() and len(told.read_text().split()) == 2, "workers begin")
        workers = [int(pid) for pid in told.read_text().split()]
        assert all(map(alive, workers))
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()

    eventually(lambda: not any(map(alive, workers)), "workers end")


def test_a_function_of_the_program_itself_is_refused(monkeypatch):
    monkeypatch.setattr(work.doubled, "__module__", "__main__")

    with pytest.raises(UsageError, match="worker processes cannot import 'doubled'") as caught:
        ran(work.doubled, [1, 2])
    assert "workers=1" in (caught.value.remedy or "")
