"""The local engine: workers forked from a process without threads, which end with the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
import worker_functions as work

from harvest.cli.early import LARGE_BYTES, begin_workers
from harvest.engines import forking
from harvest.engines.local import LocalEngine
from harvest.errors import HarvestError

NAME = "HARVEST_TEST_OF_WORKERS"
SUPPORT = str(Path(work.__file__).parent)


def ran(function, tasks, *, modules=()):
    engine = LocalEngine(workers=2)
    engine.modules = list(modules)
    return list(engine.map(function, tasks))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def eventually(found, what: str) -> None:
    limit = time.monotonic() + 60
    while not found():
        assert time.monotonic() < limit, what
        time.sleep(0.02)


def test_results_come_from_other_processes():
    assert sorted(ran(work.doubled, range(20))) == [2 * n for n in range(20)]
    assert os.getpid() not in {told["pid"] for told in ran(work.told_of_itself, [NAME] * 4)}


def test_workers_have_the_environment_of_now_not_of_the_first_run(monkeypatch):
    for value in ("first", "second"):
        monkeypatch.setenv(NAME, value)
        assert {told["variable"] for told in ran(work.told_of_itself, [NAME] * 4)} == {value}
    monkeypatch.delenv(NAME)
    assert {told["variable"] for told in ran(work.told_of_itself, [NAME] * 4)} == {None}


def test_a_killed_worker_is_told_with_what_to_do():
    with pytest.raises(HarvestError, match="a worker process was killed") as caught:
        ran(work.deadly, [1, 2])
    assert "run again" in (caught.value.remedy or "")


class FoundOut:
    """A number that takes its time to be pickled, as a range whose lines are to be counted."""

    asked: ClassVar[set[int]] = set()

    def __init__(self, number: int):
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        if self.number not in self.asked:
            time.sleep(0.1)
            self.asked.add(self.number)
        return int, (self.number,)


def test_workers_do_not_wait_until_every_task_has_found_out_what_it_needs():
    FoundOut.asked.clear()
    results = LocalEngine(workers=2).map(work.doubled, [FoundOut(n) for n in range(30)])

    first = next(results)
    then = len(FoundOut.asked)
    everything = sorted([first, *results])

    assert then < 30
    assert everything == [2 * n for n in range(30)]


def printed_by(code, folder):
    """What a script prints; workers need one that they can import."""
    script = folder / "script.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, str(script), SUPPORT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FRESH = """
import os, sys
from pathlib import Path
from typing import Any, ClassVar
sys.path.insert(0, sys.argv[1])
from harvest.engines.local import LocalEngine
import worker_functions as work

if __name__ == "__main__":
    engine = LocalEngine(workers=2)
    engine.modules = ["harvest.run.reading", "polars", "no_such_module"]
    first = next(iter(engine.map(work.told_of_itself, ["X", "X"])))
    threads = os.listdir(f"/proc/{first['parent']}/task")
    print(first["pyarrow"], first["polars"], len(threads), first["parent"] != os.getpid())
"""


def test_workers_are_forked_from_one_thread_that_has_imported_what_they_need(tmp_path):
    """polars would start threads; a module that is not there is no worker's concern."""
    assert printed_by(FRESH, tmp_path) == "True False 1 True"


BEGUN = """
import os, sys
sys.path.insert(0, sys.argv[1])
from harvest.engines import forking
from harvest.engines.local import LocalEngine
import worker_functions as work

if __name__ == "__main__":
    forking.begin(["harvest.run.reading"])
    engine = LocalEngine(workers=2)
    engine.modules = ["colorsys"]
    told = list(engine.map(work.modules_there, [["pyarrow", "colorsys", "polars"]] * 4))
    print(*sorted(set(map(str, told))))
"""


def test_what_is_begun_ahead_imports_what_is_named_then_and_later(tmp_path):
    assert printed_by(BEGUN, tmp_path) == "['pyarrow', 'colorsys']"


NEVER_USED = """
import sys
from multiprocessing import forkserver
from harvest.engines import forking
forking.begin(["harvest.run.reading"])
print(forkserver._forkserver._forkserver_pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_what_is_begun_ahead_ends_with_the_process_that_never_used_it(killed):
    process = subprocess.Popen(
        [sys.executable, "-c", NEVER_USED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(process.stdout.readline())
    assert alive(pid)

    if killed:
        process.kill()
    process.communicate()

    eventually(lambda: not alive(pid), "it ends")


def test_what_is_begun_ahead_says_nothing_when_the_process_ends_at_once():
    code = "from harvest.engines import forking; forking.begin(['harvest.run.reading'])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "early"),
    [
        (["run", "-s", "gpfs:large", "-k", "parquet:out"], True),
        (["run", "--source=gpfs:large"], True),
        (["run", "-s", "gpfs:small"], False),
        (["run", "-s", "gpfs:there is none"], False),
        (["run", "-s"], False),
        (["run", "recipe.toml"], False),
        (["run", "recipe.toml", "--workers", "4"], True),
        (["run", "-s", "gpfs:large", "--engine", "local"], True),
        (["run", "-s", "gpfs:large", "--workers=1"], False),
        (["run", "-s", "gpfs:large", "--engine=dask", "--workers", "4"], False),
        (["run", "-s", "gpfs:large", "--dry-run"], False),
        (["check", "-s", "gpfs:large"], False),
        ([], False),
    ],
)
def test_workers_are_begun_before_the_plan_where_they_are_surely_wanted(
    tmp_path, monkeypatch, words, early
):
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGE_BYTES)
    (tmp_path / "small").write_bytes(b"few")
    begun = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(forking, "begin", begun.append)

    begin_workers(words)

    assert bool(begun) == early


def test_workers_do_not_outlive_a_process_that_is_killed_alone(tmp_path):
    told = tmp_path / "pids"
    code = (
        "from harvest.engines.local import LocalEngine\n"
        "import worker_functions as work\n"
        f"list(LocalEngine(workers=2).map(work.endless, [{str(told)!r}] * 2))\n"
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
