"""One run at a time: locks of the kernel, and numbered files where there are none."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import attrs
import crash
import pytest
from commands import harvest_here
from datasets import Small, dump

from harvest import interrupt
from harvest.errors import DatasetError
from harvest.storage import lock as lock_module
from harvest.storage.lock import STALE_S, Holder, locked


@pytest.fixture(params=["kernel", "ENOLCK", "EOPNOTSUPP", "ENOSYS"])
def locks(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file system with locks, and several without."""
    if request.param != "kernel":
        number = getattr(errno, request.param)

        def refuse(descriptor: int, operation: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", refuse)
    return str(request.param)


def test_a_second_run_is_refused_and_told_who_is_first(locks: str, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(DatasetError) as caught, locked(tmp_path):
        pass
    assert f"process {os.getpid()} on " in str(caught.value)
    assert "--wait SECONDS" in str(caught.value)
    with locked(tmp_path):
        pass
    assert not list(tmp_path.glob(".*"))  # nothing that was made on the way is left


def test_a_second_run_may_wait(locks: str, tmp_path: Path) -> None:
    entered = threading.Event()
    order = []

    def first() -> None:
        with locked(tmp_path):
            entered.set()
            time.sleep(0.3)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait()
    with locked(tmp_path, wait_s=60):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_waiting_has_an_end(locks: str, tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(DatasetError, match="another run is writing"),
        locked(tmp_path, wait_s=0.2),
    ):
        pass


CHILD = """
import fcntl, errno, os, sys, time
from pathlib import Path
from harvest.storage.lock import locked
if sys.argv[2] != "kernel":
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")
    fcntl.flock = refuse
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(1000)
"""


@pytest.mark.parametrize("locks", ["kernel", "ENOLCK"], indirect=True)
def test_the_lock_of_a_killed_process_is_free_at_once(locks: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", CHILD, str(tmp_path), locks]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "locked\n"
    with pytest.raises(DatasetError, match=f"process {child.pid} on"), locked(tmp_path):
        pass

    child.kill()
    child.wait()
    child.stdout.close()

    with locked(tmp_path):
        pass


def elsewhere(**changes: Any) -> Holder:
    """A process on another machine."""
    other = {"host": "node2", "boot": "another-boot", "pid": 17, "started": "5", "since": "noon"}
    return attrs.evolve(Holder.me(), **{**other, **changes})


def lock_file(state: Path, locks: str) -> Path:
    return state / ("lock" if locks == "kernel" else "lock-00000007")


def test_a_process_elsewhere_holds_its_lock_as_long_as_it_gives_signs_of_life(
    locks: str, tmp_path: Path
) -> None:
    # given a lock file of another machine, whose kernel's locks are not seen here
    path = lock_file(tmp_path, locks)
    path.write_bytes(elsewhere().record())

    with pytest.raises(DatasetError, match="process 17 on node2") as caught, locked(tmp_path):
        pass
    assert f"free {STALE_S:.0f} s after its last sign of life" in str(caught.value)

    old = time.time() - STALE_S - 1
    os.utime(path, (old, old))
    with locked(tmp_path):
        pass


def test_a_lock_file_that_cannot_be_understood_counts_until_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", _no_locks)
    path = lock_file(tmp_path, "ENOLCK")
    path.write_bytes(b"")
    with pytest.raises(DatasetError, match="holder unknown"), locked(tmp_path):
        pass
    os.utime(path, (0, 0))
    with locked(tmp_path):
        pass


def _no_locks(descriptor: int, operation: int) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_the_holder_gives_signs_of_life(
    locks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "BEAT_S", 0.02)
    with locked(tmp_path):
        path = max(tmp_path.glob("lock*"))
        os.utime(path, (0, 0))
        while path.stat().st_mtime == 0:
            time.sleep(0.01)


def test_who_lost_the_lock_commits_nothing(
    locks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a run that gave no sign of life for so long that another machine took the lock
    with locked(tmp_path) as lock:
        lock.check()
        other = lock_file(tmp_path, locks)
        other.write_bytes(elsewhere().record())

        with pytest.raises(DatasetError, match="another run took over this dataset"):
            lock.check()

    # and it leaves the other's lock alone
    assert Holder.parse(other.read_bytes()) == elsewhere()


@pytest.mark.parametrize("locks", ["ENOLCK"], indirect=True)
def test_a_number_that_came_too_late_may_be_cleared_away_already(
    locks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a process that took a higher number, and cleared ours away, while we made ours
    create = lock_module._create

    def late(path: Path, record: bytes) -> bool:
        made = create(path, record)
        create(path.with_name("lock-00000009"), elsewhere().record())
        path.unlink()
        return made

    monkeypatch.setattr(lock_module, "_create", late)

    with pytest.raises(DatasetError, match="another run is writing this dataset"), locked(tmp_path):
        pass


CONTENDER = """
import fcntl, errno, sys, time
from pathlib import Path
from harvest.storage import lock
def refuse(*_):
    raise OSError(errno.ENOLCK, "No locks available")
fcntl.flock = refuse
lock._POLL_S = 0.001
folder = Path(sys.argv[1])
for _ in range(25):
    with lock.locked(folder, wait_s=600):
        count = int((folder / "count").read_text())
        time.sleep(0.001)
        (folder / "count").write_text(str(count + 1))
"""


@pytest.mark.slow
def test_numbered_files_let_one_in_at_a_time(tmp_path: Path) -> None:
    # given processes that each add to a number, which only works one at a time
    (tmp_path / "count").write_text("0")
    (tmp_path / "lock-00000003").write_bytes(elsewhere().record())
    os.utime(tmp_path / "lock-00000003", (0, 0))  # and a dead holder, for all to take over from
    words = [sys.executable, "-c", CONTENDER, str(tmp_path)]
    processes = [subprocess.Popen(words) for _ in range(4)]
    assert [process.wait(timeout=600) for process in processes] == [0] * 4
    assert (tmp_path / "count").read_text() == "100"
    assert len(list(tmp_path.glob("lock-*"))) == 1


# --- whole runs -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_of_two_runs_at_once_one_is_refused_or_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a run that stands before its commit
    small = Small(tmp_path).write(a=dump(1))
    first = crash.start(small.words(), HARVEST_FAULT="commit.begun:1:stop")
    crash.wait_until_stopped(first)

    refused = harvest_here(*small.words())
    assert refused.returncode == 1
    assert f"another run is writing this dataset (process {first.pid} on " in refused.stderr

    # and one that waits until it has gone on
    small.write(b=dump(2))
    sleep = interrupt.sleep
    monkeypatch.setattr(
        interrupt, "sleep", lambda s: (crash.kill_group(first, signal.SIGCONT), sleep(s))
    )
    waited = harvest_here(*small.words("--wait", "600"))

    assert waited.returncode == 0, waited.stderr
    _, said = first.communicate(timeout=120)
    assert first.returncode == 0, said
    assert small.jobs() == [1, 2]
    assert len(small.manifest().runs) == 2


@pytest.mark.slow
def test_a_run_that_lost_its_lock_touches_nothing(tmp_path: Path) -> None:
    # given a run that was suspended for so long that another machine took over the dataset
    small = Small(tmp_path, "jsonl").write(a=dump(1))
    small.harvest()
    small.write(a=dump(2), b=dump(3))
    before = small.manifest()
    suspended = crash.start(small.words(), HARVEST_FAULT="commit.kept:1:stop")
    crash.wait_until_stopped(suspended)
    (small.state / "lock").write_bytes(elsewhere().record())
    files = {path: path.stat().st_mtime_ns for path in small.folder.rglob("*")}

    crash.kill_group(suspended, signal.SIGCONT)
    _, said = suspended.communicate(timeout=120)

    # then it neither commits nor clears up in what is another's by now
    assert suspended.returncode == 1
    assert "another run took over this dataset" in said
    assert small.manifest() == before
    assert {path: path.stat().st_mtime_ns for path in small.folder.rglob("*")} == files


def test_without_hard_links_too_a_number_is_taken_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "no hard links on this file system")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "lock-00000001"

    assert lock_module._create(path, b"of the first")
    assert not lock_module._create(path, b"of the second")
    assert path.read_bytes() == b"of the first"
