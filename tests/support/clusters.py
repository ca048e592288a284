"""For tests that need a cluster: a real Slurm on this machine, and harvest run on it."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harvest_paced import installed

TOOLS = Path(__file__).resolve().parents[2].parent / "shared" / "tools"


@contextlib.contextmanager
def real_slurm() -> Iterator[dict[str, str]]:
    """The environment of a Slurm that runs: the one of SLURM_CONF, or one started for the tests.

    Skips where there is none and none can be started.
    """
    if os.environ.get("SLURM_CONF") and shutil.which("sinfo"):
        yield dict(os.environ)
        return
    up, down = TOOLS / "slurm-up", TOOLS / "slurm-down"
    if not up.exists():
        pytest.skip(f"no Slurm: SLURM_CONF is not set, and {up} is absent")
    if os.geteuid() != 0:
        pytest.skip("starting a Slurm needs root")
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path("/tmp")
    folder = base / f"he{os.getpid()}"
    env = {
        **os.environ,
        "SLURM_TEST_DIR": str(folder),
        "SLURM_TEST_NODES": "2",
        "SLURM_TEST_CPUS": "16",
        # ten ports of its own, below those that the system gives out
        "SLURM_TEST_PORT": str(10_000 + os.getpid() % 900 * 10),
    }
    try:
        started = subprocess.run(
            [up], env=env, capture_output=True, text=True, timeout=300, check=False
        )
        if started.returncode != 0:
            pytest.skip(f"no Slurm could be started: {started.stderr.strip()[-300:]}")
        yield {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    finally:
        subprocess.run([down, "--purge"], env=env, capture_output=True, timeout=120, check=False)
        shutil.rmtree(folder, ignore_errors=True)


class Harvest:
    """The command ``harvest`` in an environment, its results and its datasets' files."""

    def __init__(self, env: dict[str, str], cwd: Path):
        self.env = env
        self.cwd = cwd

    def start(self, *arguments: Any) -> subprocess.Popen[str]:
        """Begin ``harvest ARGUMENTS...``, in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "harvest", *map(str, arguments)],
            cwd=self.cwd, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="surrogateescape", start_new_session=True,
        )  # fmt: skip

    def run(self, *arguments: Any, code: int = 0) -> str:
        """Run ``harvest ARGUMENTS...`` to its end; what it printed, on both channels."""
        return self.end(self.start(*arguments), code)

    def end(self, process: subprocess.Popen[str], code: int = 0) -> str:
        """Wait for a command that was begun."""
        out, err = process.communicate(timeout=170)
        assert process.returncode == code, out + err
        assert "Traceback" not in err, err
        return out + err

    def slurm(self, *command: str) -> str:
        """Run one of Slurm's commands; its output."""
        return subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=60, check=True
        ).stdout


def in_work(dataset: Path, stem: str) -> list[Path]:
    """The attempts at a partition that a run has begun."""
    return list((dataset / "_harvest" / "staging" / "attempts").glob(f"{stem}-*"))


def rows_files(dataset: Path) -> dict[str, bytes]:
    """Name and content of all files of a dataset but those that tell of its runs."""
    return {
        os.fspath(path.relative_to(dataset)): path.read_bytes()
        for path in sorted(dataset.rglob("*"))
        if path.is_file() and "_harvest/" not in os.fspath(path.relative_to(dataset))
    }


def eventually(holds: Callable[[], Any], what: str, *, within_s: float = 90) -> Any:
    """Wait until something holds; gives it."""
    until = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < until, f"{what}: not within {within_s:.0f} s"
        time.sleep(0.05)
    return found


# --- fixtures, for conftest.py to import


@pytest.fixture(scope="session")
def slurm_environment() -> Iterator[dict[str, str]]:
    """Environment in which Slurm's commands work."""
    with real_slurm() as env:
        yield env


@pytest.fixture(params=[pytest.param("slurm", marks=pytest.mark.slow)])
def on_slurm(slurm_environment: dict[str, str], paced: Path, tmp_path: Path) -> Iterator[Harvest]:
    """The command ``harvest`` where Slurm is, with the plugin ``paced`` installed."""
    here = Harvest(_with(paced, slurm_environment), tmp_path)
    yield here
    for name in ("harvest", "harvest-stage", "harvest-commit"):
        here.slurm("scancel", "--name", name)  # what a failed test left


@pytest.fixture
def anywhere(paced: Path, tmp_path: Path) -> Harvest:
    """The command ``harvest`` with the plugin ``paced`` installed."""
    return Harvest(_with(paced, dict(os.environ)), tmp_path)


@pytest.fixture(scope="session")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the module path in which the plugin ``paced`` is installed."""
    return installed(tmp_path_factory.mktemp("paced"))


def _with(folder: Path, env: dict[str, str]) -> dict[str, str]:
    return {**env, "PYTHONPATH": os.pathsep.join((str(folder), env.get("PYTHONPATH", "")))}
