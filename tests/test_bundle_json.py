"""A bundle as JSON: what another process reads of it is what was written."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from harvest import Bundle, PluginError, UsageError
from harvest.pipeline.prepare import PreparedRun, prepare_sinks, prepare_sources
from harvest.plugins.registry import manager
from harvest.reading.task import Task
from harvest.reading.written import to_json
from harvest.recipes.recipe import Endpoint, Recipe
from harvest.storage.manifest import Manifest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "dask-run"


def types_of(value):
    """The types in a value, at every depth, in order."""
    if isinstance(value, dict):
        return dict, [(types_of(k), types_of(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [types_of(item) for item in value]
    return type(value)


@pytest.mark.parametrize(
    "value", [object(), lambda: 1, Manifest(sink="s", location="l"), {1: {2j}}]
)
def test_other_values_are_refused_by_name(value):
    with pytest.raises(PluginError, match="cannot be sent to a batch job"):
        to_json(value)


def example_tasks(folder: Path, limit: int = 50) -> list[Task]:
    """Tasks of several sources and sinks, as a run makes them, with settings that are not plain."""
    ncem = folder / "ncem"
    ncem.mkdir()
    (ncem / "data_scan0000000001_module0.data").write_bytes(b"1")
    recipe = Recipe(
        sources=(Endpoint("mofka-dask", str(EXAMPLE)), Endpoint("ncem", str(ncem))),
        sinks=(
            Endpoint("parquet", str(folder / "p q")),
            Endpoint("jsonl", str(folder / "caf\udce9.jsonl.gz")),
        ),
        settings={
            "mofka-dask": {"timezone": "America/Chicago"},
            "ncem": {"clock_offset.nersc": "-27ms"},
            "jsonl": {"level": 3},
        },
        max_rejects=7,
    )
    uses, sinks = prepare_sources(recipe, manager()), prepare_sinks(recipe, manager())
    manifests = [Manifest(sink=sink.name, location=sink.location) for sink in sinks]
    listed = [(use, partition) for use in uses for partition in use.source.plan()]
    prepared = PreparedRun(recipe=recipe, plugins=manager(), uses=uses, listed=listed, sinks=sinks)
    plan = prepared.plan(manifests, "R")
    return [
        Task(
            source=planned.use.source,
            partition=planned.partition,
            targets=tuple((sinks[number], planned.part) for number in planned.read_for),
            max_rejects=recipe.max_rejects,
        )
        for planned in plan.to_read[:limit]
    ]


def written(tasks: list[Task]) -> Any:
    """Tasks as they are written, and read again from the text."""
    text = json.dumps(Bundle(tuple(tasks)).to_json())
    assert text.isascii()
    return json.loads(text)


def test_tasks_reach_another_process_as_they_were(tmp_path):
    tasks = example_tasks(tmp_path)
    assert {task.source.name for task in tasks} == {"mofka-dask", "ncem"}

    back = Bundle.from_json(written(tasks))._tasks

    assert len(back) == len(tasks)
    for mine, theirs in zip(tasks, back, strict=True):
        assert theirs.partition == mine.partition
        assert types_of(dict(theirs.partition.options)) == types_of(dict(mine.partition.options))
        assert (type(theirs.source), theirs.source.location) == (
            type(mine.source),
            mine.source.location,
        )
        assert theirs.source.config == mine.source.config
        assert [part for _, part in theirs.targets] == [part for _, part in mine.targets]
        assert [(type(s), s.location, s.config, s.state) for s, _ in theirs.targets] == [
            (type(s), s.location, s.config, s.state) for s, _ in mine.targets
        ]
        assert (theirs.on_error, theirs.max_rejects) == (mine.on_error, mine.max_rejects)


def test_a_process_with_another_version_of_a_plugin_refuses(tmp_path):
    document = written(example_tasks(tmp_path, limit=1))
    known = dict(document["terms"]["versions"])
    assert {"hpc-harvest", "hpc-harvest-mofka-dask"} <= set(known)
    assert {"hpc-harvest-dask", "hpc-harvest-dask-runs"} <= set(known)
    others = [["hpc-harvest-mofka-dask", "0.0.1"], ["hpc-harvest-not-there", "1"]]
    document["terms"]["versions"] = others

    with pytest.raises(UsageError) as caught:
        Bundle.from_json(document)

    assert "hpc-harvest-mofka-dask is" in str(caught.value)
    assert "0.0.1 here" in str(caught.value)
    assert "hpc-harvest-not-there is not installed there" in str(caught.value)


@pytest.mark.parametrize("document", [[], {}, {"on_error": "reject", "max_rejects": None}])
def test_what_another_version_has_written_is_refused_in_one_line(document):
    with pytest.raises(UsageError, match="not written down by this version of harvest"):
        Bundle.from_json(document)


def test_a_source_that_others_could_not_find_is_refused(tmp_path, demo_plugins):
    source = demo_plugins.source("demo")(str(tmp_path))
    task = attrs.evolve(example_tasks(tmp_path, limit=1)[0], source=source)
    with pytest.raises(UsageError, match="'DemoSource' of this run is not of an installed plugin"):
        Bundle((task,)).to_json()
