"""The table of the plugins that the project publishes is true, and errors name what to install."""

from __future__ import annotations

import functools
import json
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from commands import harvest_here
from packaging.requirements import Requirement

import harvest
from harvest import HarvestError
from harvest.model import record_type
from harvest.pipeline.prepare import prepare_sinks, prepare_sources
from harvest.plugins.known import KNOWN
from harvest.plugins.registry import PluginManager
from harvest.recipes.recipe import Endpoint, Recipe

ROOT = Path(__file__).resolve().parents[1]
BY_NAME = {known.distribution: known for known in KNOWN}
EVERYTHING = PluginManager(disabled="", preferred="")


@functools.cache
def without(distribution: str) -> PluginManager:
    """The plugins of an environment in which one distribution, and who needs it, is not there."""
    points = [
        p
        for p in entry_points(group="harvest")
        if distribution not in (p.dist.name, *map(needed_always, p.dist.requires or ()))
    ]
    return PluginManager(points, disabled="", preferred="")


def needed_always(words: str) -> str | None:
    """The distribution that a requirement names; none where only an extra needs it."""
    return None if "extra ==" in words else Requirement(words).name


def types_of(distribution: str, plugins: PluginManager) -> list[str]:
    """Names of the record types whose classes a distribution has."""
    package = distribution.removeprefix("hpc-").replace("-", "_")
    classes = (cls for spec in plugins.sources.values() for cls in plugins.load(spec).record_types)
    return [record_type(cls).name for cls in classes if cls.__module__.split(".")[0] == package]


def test_the_table_has_every_distribution_of_the_repository_that_declares_something():
    found = [tomllib.loads(p.read_text()) for p in ROOT.glob("plugins/*/pyproject.toml")]
    plugins = [
        p["project"]["name"] for p in found if "harvest" in p["project"].get("entry-points", ())
    ]
    assert sorted(BY_NAME) == sorted(plugins)
    assert list(BY_NAME) == sorted(BY_NAME)


@pytest.mark.parametrize("distribution", BY_NAME)
def test_the_table_says_what_a_plugin_declares(distribution):
    known, found = BY_NAME[distribution], EVERYTHING

    def declared(kind: str) -> list[str]:
        specs = getattr(found, kind).values()
        return [spec.name for spec in specs if found.owner(spec).distribution == distribution]

    kinds = ("sources", "sinks", "engines", "commands", "exporters")
    assert [getattr(known, kind) for kind in kinds] == [tuple(declared(kind)) for kind in kinds]
    named = [name for kind in ("views", "reports", "rules") for name in declared(kind)]
    types = types_of(distribution, found)
    words = {name if name in known.views else name.partition(".")[0] for name in named}
    assert words == set(known.views)
    assert {name.partition(".")[0] for name in types} == set(known.records)
    for kind in ("views", "records"):
        for word in getattr(known, kind):
            assert [k for k in KNOWN if word in getattr(k, kind)] == [known]


def test_the_readme_lists_every_distribution_of_the_repository():
    readme = (ROOT / "README.md").read_text()
    for path in ROOT.glob("plugins/*/README.md"):
        name = path.parent.name.removeprefix("lib-")
        assert f"| [`{name}`](plugins/{path.parent.name}/README.md) |" in readme


@pytest.mark.parametrize(
    ("distribution", "kind", "name"),
    [(k.distribution, kind, name) for k in KNOWN for kind in ("source", "sink")
     for name in getattr(k, f"{kind}s")],
)  # fmt: skip
def test_an_absent_source_or_sink_names_its_distribution(distribution, kind, name):
    plugins = without(distribution)
    recipe = Recipe(**{f"{kind}s": (Endpoint(name, "x"),)})

    with pytest.raises(HarvestError) as caught:
        prepare_sources(recipe, plugins) if kind == "source" else prepare_sinks(recipe, plugins)

    assert str(caught.value) == f"unknown {kind} {name!r}; install {distribution}"


@pytest.mark.parametrize(
    "distribution", [known.distribution for known in KNOWN if known.views or known.records]
)
def test_an_absent_view_report_rule_or_record_type_does_too(distribution):
    plugins = without(distribution)
    dataset = harvest.Dataset.blank(plugins)
    for kind in ("view", "report", "rule"):
        for name, spec in getattr(EVERYTHING, f"{kind}s").items():
            if EVERYTHING.owner(spec).distribution == distribution:
                absent = f"unknown {kind} '{name}'; install {distribution}"
                with pytest.raises(HarvestError, match=absent):
                    getattr(plugins, kind)(name)
    for name in types_of(distribution, EVERYTHING):
        with pytest.raises(HarvestError, match=f"; install {distribution}$"):
            dataset[name]


def test_settings_of_an_absent_plugin_name_it(tmp_path):
    (tmp_path / "x").write_text("")
    recipe = Recipe(
        sources=(Endpoint("slurm", str(tmp_path / "x")),), settings={"gpfs": {"k": "v"}}
    )
    with pytest.raises(harvest.ConfigError, match="install hpc-harvest-gpfs"):
        prepare_sources(recipe, without("hpc-harvest-gpfs"))


def test_the_command_line_lists_them():
    listed = json.loads(harvest_here("plugins", "available", "--json").stdout)
    assert {item["distribution"]: item["sources"] for item in listed} == {
        known.distribution: list(known.sources) for known in KNOWN
    }
    assert all(item["installed"] for item in listed)
    shown = harvest_here("plugins", "available").stdout
    assert "reads Darshan logs" in shown
