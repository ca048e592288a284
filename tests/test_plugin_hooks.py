"""How the hooks of plugins are called: by pluggy, each plugin by itself."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import harvest
from harvest import PluginError
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


# --- older and newer plugin APIs ------------------------------------------------------------------

CODE = """
import harvest

class Lines(harvest.Source):
    'Lines.'
    name, api_version = "lines", {api}
"""


@pytest.fixture
def core(monkeypatch):
    """Makes this harvest offer other plugin APIs than it does."""

    def offer(oldest: int, newest: int) -> None:
        monkeypatch.setattr("harvest.plugins.registered.OLDEST_API_VERSION", oldest)
        monkeypatch.setattr("harvest.plugins.registered.API_VERSION", newest)

    return offer


@pytest.fixture(params=["module", "class"])
def plugin(request, tmp_path, monkeypatch):
    """Writes a plugin for an API and gives the manager that finds it."""

    def find(api: object) -> PluginManager:
        name = f"for_api_{request.param}_{abs(hash(repr(api)))}"
        if request.param == "module":
            code = f"harvest_api = {api!r}\ndef harvest_sources(): return []\n"
            code = code.replace("def", "import harvest\n@harvest.hookimpl\ndef")
            target = name
        else:
            code, target = CODE.format(api=repr(api)), f"{name}:Lines"
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        return PluginManager([EntryPoint("lines", target, "harvest")], disabled="")

    return find


def test_plugins_for_an_older_api_harvest_with_a_newer_core(core, tmp_path):
    # given a core of the next plugin API, and plugins that were written for the one before
    core(oldest=1, newest=2)
    points = ("harvest.builtin.plugin", "harvest_demo", "harvest_parquet.plugin")
    plugins = PluginManager([EntryPoint(p, p, "harvest") for p in points], disabled="")
    (tmp_path / "a.demo").write_text("good\nmorning\n")

    # when they harvest, and the rows are read
    harvest.run(
        f"demo:{tmp_path / 'a.demo'}", f"parquet:{tmp_path / 'out'}", plugins=plugins, workers=1
    )
    rows = harvest.open(tmp_path / "out", plugins=plugins)["demo.line"].collect()

    # then nothing was refused and every line is there
    assert plugins.broken == {}
    assert rows["text"].to_list() == ["good", "morning"]


def test_a_plugin_for_a_newer_api_asks_for_a_newer_harvest(core, plugin):
    core(oldest=1, newest=2)
    refused = plugin(3).broken["lines"]
    assert refused.cause == "it is written for plugin API 3; this harvest offers 1 to 2"
    assert refused.remedy == "update hpc-harvest"


def test_a_plugin_for_an_api_that_went_asks_for_a_newer_plugin(core, plugin):
    core(oldest=2, newest=3)
    found = plugin(1)
    assert found.broken["lines"].cause == (
        "it is written for plugin API 1; this harvest offers 2 to 3"
    )
    assert found.broken["lines"].remedy == "install a version of (unknown) for plugin API 3"
    with pytest.raises(PluginError, match="this harvest offers 2 to 3"):
        found.source("lines")


@pytest.mark.parametrize("api", ["1", True, 1.0, None])
def test_an_api_that_is_not_a_whole_number_is_the_author_s_mistake(plugin, api):
    refused = plugin(api).broken["lines"]
    assert f"states {api!r} as its plugin API, which is not a whole number" in refused.cause
    assert refused.remedy.startswith("ask the author of")
