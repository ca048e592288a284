"""A dataset outlives the plugins that wrote it: what needs an absent one says which to install."""

from __future__ import annotations

import contextlib

import pytest
import small_inputs
from commands import harvest_here

import harvest
from harvest import HarvestError, UsageError
from harvest.plugins.registry import PluginManager


@pytest.mark.slow
@pytest.mark.parametrize("absent", sorted(small_inputs.MAKERS))
def test_every_view_and_report_serves_or_says_what_is_missing(everything, absent):
    # given a dataset with rows of a plugin that is not there
    dataset = harvest.open(everything, plugins=PluginManager(disabled=f"hpc-harvest-{absent}"))
    asked = [(dataset.view, name) for name in dataset.plugins.views]
    asked += [(dataset.report, name) for name in dataset.plugins.reports]

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
