"""A dataset outlives the plugins that wrote it: what needs an absent one says which to install."""

import contextlib
import functools
import json
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import small_inputs
from commands import harvest_here
from night import one_of_each
from packaging.requirements import Requirement

import harvest
from harvest import HarvestError, UsageError
from harvest.model import record_type
from harvest.pipeline.prepare import prepare_sinks, prepare_sources
from harvest.plugins.known import KNOWN
from harvest.plugins.registry import PluginManager
from harvest.recipes.recipe import Endpoint, Recipe


@pytest.mark.slow
@pytest.mark.parametrize("absent", sorted({*small_inputs.MAKERS} - {"mofka-dask"}))
def test_every_view_and_report_serves_or_says_what_is_missing(everything, absent):
    # given rows of a plugin that is not there (those of mofka-dask have types of hpc-harvest-dask)
    dataset = harvest.open(everything, plugins=PluginManager(disabled=f"hpc-harvest-{absent}"))
    asked = [(dataset.view, name) for name in one_of_each(dataset.plugins.views)]
    asked += [(dataset.report, name) for name in one_of_each(dataset.plugins.reports)]

    # when all views and reports are asked for, then only errors for a person are raised
    for ask, name in asked:
        try:
            made = ask(name)
            if ask == dataset.view:
                made.collect()
        except HarvestError:
            continue

    # and the one that reads every record type names the distribution to install
    with pytest.raises(UsageError, match=f"install hpc-harvest-{absent}, which wrote its rows"):
        dataset.view("events").collect()


@pytest.mark.slow(night=True)
@pytest.mark.parametrize("source", sorted(small_inputs.MAKERS))
def test_a_dataset_of_one_source_serves_every_view_or_says_what_is_missing(
    everything, tmp_path, source
):
    # given rows of one source alone
    inputs = everything.parent / "in" / source
    zone = {"slurm": {"timezone": "UTC"}} if source == "slurm" else None
    harvest.run(f"{source}:{inputs}", f"parquet:{tmp_path / 'out'}", settings=zone, workers=1)
    dataset = harvest.open(tmp_path / "out")

    # when all views and reports are asked for, then only errors for a person are raised
    for name in dataset.plugins.views:
        with contextlib.suppress(HarvestError):
            dataset.view(name).collect()
    for name in dataset.plugins.reports:
        with contextlib.suppress(HarvestError):
            dataset.report(name)


@pytest.mark.slow
def test_a_record_type_without_rows_is_an_empty_frame_of_its_columns(everything, tmp_path):
    # given a dataset of slurm's rows
    inputs, zone = everything.parent / "in" / "slurm", {"slurm": {"timezone": "UTC"}}
    harvest.run(f"slurm:{inputs}", f"parquet:{tmp_path / 'out'}", settings=zone, workers=1)

    # when a declared type of which it has no rows is asked for, then its columns are there
    dataset = harvest.open(tmp_path / "out")
    frame = dataset["gpfs.file"].collect()
    assert frame.height == 0
    assert frame.columns == list(dataset.record_type("gpfs.file").arrow_schema.names)

    # and without its plugin the columns are not known, which a person reads with the remedy
    without = harvest.open(tmp_path / "out", plugins=PluginManager(disabled="gpfs"))
    assert "gpfs.file" not in without
    with pytest.raises(KeyError, match="unless HARVEST_DISABLE_PLUGINS=gpfs leaves it out"):
        without["gpfs.file"]


WAYS = {
    "view": ("view", "events"),
    "query of a view": ("query", "select count(*) from events"),
    "query of a record type": ("query", 'select count(*) from "slurm.job"'),
    "query of a schema's table": ("query", "select count(*) from slurm.job"),
}


@pytest.mark.usefixtures("no_plugin_files")
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_names_the_distribution_to_install(everything, way):
    command, what = WAYS[way]
    words = [what, everything] if command == "view" else [everything, what]

    done = harvest_here(command, *words, HARVEST_DISABLE_PLUGINS="slurm")

    assert done.returncode == 2, done.stderr
    assert "record type 'slurm.job'; install hpc-harvest-slurm" in done.stderr
    assert "HARVEST_DISABLE_PLUGINS=slurm" in done.stderr
    assert "defect" not in done.stderr


def test_in_python_an_unknown_record_type_is_a_key_error_as_well(everything):
    dataset = harvest.open(everything)
    with pytest.raises(KeyError, match=r"did you mean 'slurm\.job'"):
        dataset["slurm.jobb"]


# --- the table of the project's plugins -----------------------------------------------------------

ROOT = Path(__file__).resolve().parents[1]
BY_NAME = {known.distribution: known for known in KNOWN}
EVERYTHING = PluginManager(disabled="", preferred="")


@functools.cache
def without(distribution: str) -> PluginManager:
    """The plugins of an environment in which one distribution, and who needs it, is not there."""
    points = []
    for point in entry_points(group="harvest"):
        needed = [Requirement(r).name for r in point.dist.requires or () if "extra ==" not in r]
        if distribution not in (point.dist.name, *needed):
            points.append(point)
    return PluginManager(points, disabled="", preferred="")


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
        name = path.parent.name
        assert f"[`{name}`](plugins/{name}/README.md)" in readme


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
