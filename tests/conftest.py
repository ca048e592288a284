"""What several tests share: clusters, started when a test first asks for one, and permissions."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_inputs
from clusters import anywhere, on_slurm, paced, slurm_environment

import harvest
from harvest.plugins.registered import loaded

__all__ = [
    "anywhere", "bound_by_permissions", "everything", "no_plugin_files", "on_slurm", "paced",
    "slurm_environment",
]  # fmt: skip


@pytest.fixture
def bound_by_permissions() -> list[str]:
    """Words before a command that make permissions count, for root too."""
    if os.getuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root is bound by no permissions, and there is no setpriv to change that")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search"]


@pytest.fixture
def no_plugin_files() -> Iterator[None]:
    """Files stay plugins of the process: a test begins and ends without any."""
    loaded.clear()
    yield
    loaded.clear()


@pytest.fixture(scope="session")
def everything(tmp_path_factory) -> Path:
    """A dataset with rows of every source."""
    folder = tmp_path_factory.mktemp("everything")
    small_inputs.write(folder / "in", 1)
    zone = {"slurm": {"timezone": "UTC"}}
    sources = small_inputs.sources(folder / "in")
    harvest.run(sources, f"parquet:{folder / 'out'}", settings=zone, workers=1)
    return folder / "out"
