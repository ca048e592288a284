"""How the hooks of plugins are called: by pluggy, each plugin by itself."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from harvest.plugins.registry import PluginManager

VIEW = """
from harvest import View, hookimpl

@hookimpl
def harvest_views():
    return [View(name="{name}", doc="A view.", build="{name}:build")]
"""


@pytest.fixture
def manager_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A manager of plugins, each a module of this code."""

    def manager(**codes: str) -> PluginManager:
        for name, code in codes.items():
            (tmp_path / f"hooks_{name}.py").write_text(code)
            monkeypatch.delitem(sys.modules, f"hooks_{name}", raising=False)
        monkeypatch.syspath_prepend(tmp_path)
        points = [EntryPoint(name, f"hooks_{name}", "harvest") for name in codes]
        return PluginManager(points, disabled="")

    return manager


def test_every_plugin_s_declarations_are_its_own(manager_of):
    found = manager_of(one=VIEW.format(name="one.all"), two=VIEW.format(name="two.all"))

    assert list(found.views) == ["one.all", "two.all"]
    assert [found.owner(view).name for view in found.views.values()] == ["one", "two"]


def test_a_hook_without_its_mark_is_reported_with_the_remedy(manager_of):
    unmarked = VIEW.format(name="unmarked.all").replace("@hookimpl\n", "")
    found = manager_of(unmarked=unmarked, sound=VIEW.format(name="sound.all"))

    assert list(found.views) == ["sound.all"]
    assert list(found.plugins) == ["sound"]
    problem = found.broken["unmarked"]
    assert problem.cause == "harvest_views is not marked as a hook"
    assert problem.remedy.endswith("to write @harvest.hookimpl above it")


def test_a_hook_that_raises_harms_no_other_plugin(manager_of):
    raising = VIEW.format(name="raising.all").replace("return", "raise OSError(7) #")
    found = manager_of(first=VIEW.format(name="first.all"), raising=raising)

    assert list(found.views) == ["first.all"]
    assert found.broken["raising"].cause == "registering it failed: OSError: 7"
    assert isinstance(found.broken["raising"].error, OSError)


def test_a_hook_that_does_not_exist_is_reported(manager_of):
    unknown = VIEW.format(name="unknown.all").replace("harvest_views", "harvest_vistas")
    found = manager_of(unknown=unknown)

    assert not found.views
    assert "unknown hook 'harvest_vistas'" in found.broken["unknown"].cause


TYPES = """
from harvest import Record, hookimpl, record

@record("hooks.{name}", layer="workflow", level="job")
class Row(Record):
    \"\"\"A row.\"\"\"

@hookimpl
def harvest_record_types():
    return [Row]
"""


def test_record_types_can_be_declared_for_the_sources_of_others(manager_of):
    found = manager_of(one=TYPES.format(name="one"))

    assert list(found.record_types()) == ["hooks.one"]


@pytest.mark.parametrize("given", ["1 / 0", "[int]", "[object()]"])
def test_record_types_that_are_none_harm_no_others(manager_of, given):
    wrong = TYPES.format(name="wrong").replace("return [Row]", f"return {given}")
    found = manager_of(one=TYPES.format(name="one"), wrong=wrong)

    assert list(found.record_types()) == ["hooks.one"]
    assert found.broken["wrong"].cause.startswith("harvest_record_types failed: ")


SOURCE = """
from harvest import Record, Source, SourceSpec, hookimpl, record

@record("hooks.{name}", layer="workflow", level="job")
class Row(Record):
    \"\"\"A row.\"\"\"

class Rows(Source):
    \"\"\"Rows.\"\"\"

    name = "{name}"
    record_types = (Row,)

@hookimpl
def harvest_sources():
    said = {said}
    return [SourceSpec(name="{name}", doc="Rows.", factory="{of}:Rows", record_types=said)]
"""


def test_a_source_that_says_its_record_types_is_not_imported_for_others(manager_of):
    # given a source of which the class cannot be imported, and one that says nothing
    absent = SOURCE.format(name="absent", said='("hooks.absent",)', of="no_such_module")
    silent = SOURCE.format(name="silent", said=None, of="hooks_silent")
    found = manager_of(absent=absent, silent=silent)

    assert list(found.record_types(["hooks.silent"])) == ["hooks.silent"]
    assert not found.broken
    assert found.record_type_names() == ["hooks.absent", "hooks.silent"]
    assert not found.broken
    assert not found.record_types(["hooks.absent"])
    assert "no_such_module" in found.broken["absent"].cause


def test_a_source_that_says_other_record_types_than_it_has_is_reported(manager_of):
    found = manager_of(wrong=SOURCE.format(name="wrong", said='("hooks.x",)', of="hooks_wrong"))

    assert not found.record_types()
    assert "are other ones than it declares" in found.broken["wrong"].cause
