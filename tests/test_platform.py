"""What differs between systems: macOS lacks some of Linux, and Windows is refused in one line."""

import errno
import fcntl
import json
import os
import subprocess
import sys

import pytest
from commands import harvest_each

from harvest.engines.pool import available_cores
from harvest.toolkit.files import fsync, write_atomically

LIKE_MACOS = """
import os, sys

for name in ("sched_getaffinity", "pipe2", "posix_fallocate", "copy_file_range", "memfd_create",
             "eventfd", "posix_fadvise", "sched_setaffinity", "splice", "getrandom"):
    if hasattr(os, name):
        delattr(os, name)

def absent(event, args):
    if event == "open" and str(args[0]).startswith(("/proc/", "/sys/", "/dev/shm")):
        raise FileNotFoundError(2, "absent on this system", str(args[0]))

sys.addaudithook(absent)
real = os.readlink
def readlink(path, **more):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(2, "absent on this system", str(path))
    return real(path, **more)
os.readlink, os.process_cpu_count = readlink, os.cpu_count
"""
"""For a sitecustomize module, which every interpreter imports that is started: workers, too."""


@pytest.fixture
def like_macos(tmp_path) -> dict[str, str]:
    """The environment of programs that see none of what only Linux has."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(LIKE_MACOS)
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def program(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip


def test_the_other_system_is_what_it_is_taken_for(like_macos):
    asked = "import os; print(hasattr(os, 'pipe2')); open('/proc/self/stat')"
    done = program(like_macos, "-c", asked)
    assert done.stdout == "False\n"
    assert "absent on this system" in done.stderr


@pytest.mark.slow
def test_a_harvest_with_workers_needs_nothing_that_only_linux_has(like_macos, tmp_path):
    # given several inputs and a system without Linux's own calls and files
    sources = []
    for number in range(3):
        log = {"JobID": str(number), "User": "ada", "State": "COMPLETED"}
        path = tmp_path / f"jobs{number}.txt"
        path.write_text("|".join(log) + "\n" + "|".join(log.values()) + "\n")
        sources += ["-s", f"slurm:{path}"]
    out = tmp_path / "out"
    words = ["run", *sources, "-k", f"parquet:{out}", "--workers", "2"]
    words += ["--set", "slurm.timezone=UTC", "--json"]

    # when it is harvested twice and read
    reading = (("verify", out), ("view", "slurm.jobs", out), ("runs", out))
    first, *others = harvest_each(words, words, *reading, env=like_macos)

    # then all rows are there, and all goes well
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["record_types"] == {"slurm.job": 3}
    assert [done.returncode for done in others] == [0] * 4, others


def test_without_affinity_all_cores_are_available(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert available_cores() == os.cpu_count()


@pytest.mark.parametrize(("refusal", "flushed"), [(None, 0), (errno.ENOTSUP, 1)])
def test_the_device_s_cache_is_flushed_where_the_system_can(
    monkeypatch, tmp_path, refusal, flushed
):
    # given macOS' way to flush, which file systems of networks refuse
    asked, plain = [], []

    def control(descriptor: int, command: int) -> None:
        asked.append(command)
        if refusal is not None:
            raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", plain.append)

    # when a file is written durably, then it and its directory are flushed to the device
    write_atomically(tmp_path / "file", b"text")
    assert asked == [51, 51]
    assert len(plain) == 2 * flushed


def test_a_flush_that_fails_is_an_error(monkeypatch, tmp_path):
    def control(descriptor: int, command: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    with (tmp_path / "file").open("wb") as file, pytest.raises(OSError, match="Input/output"):
        fsync(file.fileno())


WINDOWS = "import os, runpy, sys; os.name = 'nt'; sys.argv = ['harvest', 'plugins']; "


def test_windows_is_refused_in_one_line():
    started = program(dict(os.environ), "-c", WINDOWS + "runpy.run_module('harvest')")
    assert started.returncode == 1
    assert started.stderr == "harvest: harvest needs Linux or macOS; on Windows, use WSL\n"

    imported = program(dict(os.environ), "-c", WINDOWS + "from harvest import Source")
    last = imported.stderr.splitlines()[-1]
    assert last == "ImportError: harvest needs Linux or macOS; on Windows, use WSL"
    assert "fcntl" not in imported.stderr
