"""Bad input and bad targets: one clear line, the right exit code, nothing lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from commands import harvest_here

HEADER = ",key,start,finish,called_from,time\n"
GOOD = HEADER + "0,x-1,released,waiting,tcp://10.0.0.1:1,1713553301.5\n"


def harvest(*arguments, cwd=None):
    done = harvest_here(*arguments, cwd=cwd)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def run_directory(tmp_path):
    """A run directory with one good CSV."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "worker_transition.csv").write_text(GOOD)
    return folder


@pytest.fixture
def dataset(run_directory, tmp_path):
    """What the good CSV gives, committed before anything goes wrong."""
    out = tmp_path / "out"
    assert run_again(run_directory, out).returncode == 0
    return out


def rows(dataset: Path) -> int:
    done = harvest("query", dataset, 'select count(*) as n from "dask.worker_transition"', "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["n"]


def run_again(run_directory, dataset, *more):
    return harvest("run", "-s", f"mofka-dask:{run_directory}", "-k", f"parquet:{dataset}", *more)


@pytest.mark.slow
def test_a_missing_directory(tmp_path, dataset):
    done = run_again(tmp_path / "nowhere", dataset)
    assert done.returncode == 1
    assert done.stderr.startswith(f"harvest: {tmp_path}/nowhere: ")
    assert len(done.stderr.splitlines()) == 1
    assert rows(dataset) == 1


@pytest.mark.slow
def test_a_sink_that_may_not_be_written(run_directory):
    closed = Path("/proc/self")
    if not closed.exists():
        pytest.skip("no directory here that root may not write")
    done = run_again(run_directory, closed / "out")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


@pytest.mark.slow
def test_a_sink_that_is_a_file(run_directory, tmp_path):
    (tmp_path / "file").write_text("mine")
    done = run_again(run_directory, tmp_path / "file")
    assert done.returncode == 2
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.slow
def test_a_full_disk_leaves_the_dataset_as_it_was(run_directory, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        out = disk / "out"
        assert run_again(run_directory, out).returncode == 0
        random = Random(1)
        lines = (
            f"{n},{random.randbytes(40).hex()},released,waiting,tcp://h:1,{n}.5\n"
            for n in range(50_000)
        )
        (run_directory / "worker_transition.csv").write_text(HEADER + "".join(lines))

        done = run_again(run_directory, out)

        assert done.returncode == 1
        assert "No space left" in done.stderr
        assert "nothing of this run was committed" in done.stderr
        assert rows(out) == 1
        assert harvest("verify", out).returncode == 0
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "-s", "mofka-dsk:x", "-k", "parquet:out"], "did you mean 'mofka-dask'?"),
        (["run", "-s", "mofka-dask:x", "-k", "parqet:out"], "did you mean 'parquet'?"),
        (["run", "-s", "mofka-dask:x"], "no sink given"),
        (["run", "-k", "parquet:out"], "no source given"),
        (["run", "-s", "mofka-dask:x", "-k", "parquet:o", "-o", "mofka-dask.timezon=UTC"],
         "did you mean 'timezone'?"),
        (["run", "-s", "mofka-dask:x", "-k", "parquet:o", "-o", "tz=UTC"], "write NAME.KEY=VALUE"),
        (["run", "-s", "mofka-dask:x", "-k", "parquet:o", "--on-error", "ignore"],
         "use reject or fail"),
        (["view", "dask.task", "out"], "did you mean 'dask.tasks'"),
        (["schema", "dask.transfr"], "did you mean 'dask.transfer'"),
        (["runn"], "Did you mean 'run'"),
        (["run", "--sorce", "x"], "--source"),
    ],
)  # fmt: skip
def test_wrong_usage_ends_with_2_and_a_suggestion(arguments, message, tmp_path):
    done = harvest(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_is_no_dataset_is_said_to_be_none(tmp_path):
    for command in ("verify", "runs", "rejects"):
        done = harvest(command, tmp_path)
        assert done.returncode == 1
        assert "this is not a dataset" in done.stderr


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_commits_nothing(run_directory, tmp_path):
    lines = (f"{n},key-{n},released,waiting,tcp://h:{n},{n}.5\n" for n in range(500_000))
    (run_directory / "worker_transition.csv").write_text(HEADER + "".join(lines))
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "harvest", "run", "-s", f"mofka-dask:{run_directory}",
         "-k", f"parquet:{out}"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    staging = out / "_harvest" / "staging"
    while process.poll() is None and not (staging.is_dir() and any(staging.iterdir())):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert not (out / "_harvest" / "manifest.json").exists()
