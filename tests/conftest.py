"""What several tests share: clusters, started when a test first asks for one, and permissions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import Harvest, real_slurm
from harvest_paced import installed


@pytest.fixture(scope="session")
def slurm_environment() -> Iterator[dict[str, str]]:
    """Environment in which Slurm's commands work."""
    with real_slurm() as env:
        yield env


@pytest.fixture
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


@pytest.fixture
def bound_by_permissions() -> list[str]:
    """Words before a command that make permissions count, for root too."""
    if os.getuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root is bound by no permissions, and there is no setpriv to change that")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search"]


def _with(folder: Path, env: dict[str, str]) -> dict[str, str]:
    return {**env, "PYTHONPATH": os.pathsep.join((str(folder), env.get("PYTHONPATH", "")))}
