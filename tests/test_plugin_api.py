"""Plugins for older plugin APIs work, and those for one that is not offered say what to do."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

import harvest
from harvest import PluginError
from harvest.plugins.registry import PluginManager

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
