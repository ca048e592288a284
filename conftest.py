"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from harvest.plugins.registry import PluginManager

ROOT = Path(__file__).resolve().parent
SUPPORT = ROOT / "tests" / "support"

sys.path.append(str(ROOT))  # for docs_reference
# worker processes import the demo plugin too
sys.path.insert(0, str(SUPPORT))
os.environ["PYTHONPATH"] = os.pathsep.join(
    p for p in (str(SUPPORT), os.environ.get("PYTHONPATH", "")) if p
)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real samples that lies beside a checkout on some machines."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real samples here: {folder} is absent")
    return folder


@pytest.fixture
def demo_plugins() -> PluginManager:
    """A manager that knows the core and the demo plugin alone."""
    return PluginManager(
        [
            EntryPoint("core", "harvest.builtin.plugin", "harvest"),
            EntryPoint("demo", "harvest_demo", "harvest"),
        ],
        disabled="",
    )
