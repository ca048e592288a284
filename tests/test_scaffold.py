"""``harvest plugins new``: what it writes works untouched."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint

import pytest

from harvest.errors import UsageError
from harvest.plugins.registry import PluginManager
from harvest.plugins.scaffold import KINDS, scaffold
from harvest.testing.check import check_promises
from harvest.testing.declarations import check_plugin


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_project_passes_its_own_tests_and_is_a_sound_plugin(kind, tmp_path, monkeypatch):
    name = f"made-up-{kind}"
    scaffold(name, kind, tmp_path)
    root = tmp_path / f"harvest-{name}"

    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=root, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(root / "src"), "PYTEST_DEBUG_TEMPROOT": str(tmp_path)},
    )  # fmt: skip
    assert tested.returncode == 0, tested.stdout
    assert kind not in ("source", "sink") or int(tested.stdout.split(" passed")[0].split()[-1]) > 20

    monkeypatch.syspath_prepend(root / "src")
    declared = tomllib.loads((root / "pyproject.toml").read_text())
    ((entry, target),) = declared["project"]["entry-points"]["harvest"].items()
    plugins = PluginManager([EntryPoint(entry, target, "harvest")], disabled="")
    assert plugins.broken == {}
    assert check_plugin(plugins, name) == []
    assert [f for f in check_promises(plugins, name) if f.result == "broken"] == []


def test_a_new_project_is_built_as_it_stands(tmp_path):
    pytest.importorskip("hatchling")
    scaffold("made-up", "source", tmp_path)

    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"],
        cwd=tmp_path / "harvest-made-up", check=True, capture_output=True,
    )  # fmt: skip

    assert list((tmp_path / "harvest-made-up" / "dist").glob("harvest_made_up-0.1.0-*.whl"))


@pytest.mark.parametrize("name", ["Upper", "1st", "a b", "class", "../up", ""])
def test_names_that_cannot_be_packages_are_refused(name, tmp_path):
    with pytest.raises(UsageError):
        scaffold(name, "source", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    scaffold("mine", "source", tmp_path)
    with pytest.raises(UsageError, match="exists already"):
        scaffold("mine", "view", tmp_path)


def test_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(UsageError, match="use source, sink, view, report"):
        scaffold("mine", "engine", tmp_path)
