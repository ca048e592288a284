"""How the hooks of plugins are called: by pluggy, each plugin by itself."""

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import harvest
from harvest import PluginError
from harvest.plugins.registry import PluginManager

VIEW = """
from harvest import Setting, View, hookimpl

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


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("@hookimpl\n", "", "harvest_views is not marked as a hook"),
        ("@hookimpl\n", "", "to write @harvest.hookimpl above it"),
        ("return", "raise OSError(7) #", "registering it failed: OSError: 7"),
        ("harvest_views", "harvest_vistas", "unknown hook 'harvest_vistas'"),
        ("harvest_views", "harvest_vistas", "did you mean 'harvest_views'"),
        ("build=", "settings={'n': Setting('', 'int')}, build=", "not the text 'int'"),
        ("[View(", "5 #", "harvest_views gives 5 instead of a list"),
        ("[View(", "['v'] #", "harvest_views gives 'v', which has no name"),
        ("build=", "requires='a.b', build=", "defect.all requires the text 'a.b'"),
    ],
)
def test_a_defective_hook_is_reported_and_harms_no_other_plugin(manager_of, right, wrong, problem):
    defect = VIEW.format(name="defect.all").replace(right, wrong)
    found = manager_of(defect=defect, sound=VIEW.format(name="sound.all"))

    assert list(found.views) == ["sound.all"]
    assert list(found.plugins) == ["sound"]
    assert problem in f"{found.broken['defect'].cause}; {found.broken['defect'].remedy}"


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


@pytest.mark.parametrize(
    ("api", "newest", "remedy"),
    [(3, 2, "update hpc-harvest"), (0, 3, "install a version of (unknown) for plugin API 3")],
)
def test_a_plugin_for_another_api_asks_for_what_fits(core, plugin, api, newest, remedy):
    core(oldest=1, newest=newest)
    cause = f"it is written for plugin API {api}; this harvest offers 1 to {newest}"
    with pytest.raises(PluginError, match=f"{cause}; {re.escape(remedy)}"):
        plugin(api).source("lines")


@pytest.mark.parametrize("api", ["1", True, 1.0, None])
def test_an_api_that_is_not_a_whole_number_is_the_author_s_mistake(plugin, api):
    refused = plugin(api).broken["lines"]
    assert f"states {api!r} as its plugin API, which is not a whole number" in refused.cause
    assert refused.remedy.startswith("ask the author of")
