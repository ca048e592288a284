"""What a setting may be is shown where people look for it, and said where a value does not fit."""

import json

import pytest

from harvest import ConfigError
from harvest.api.settings import describe, structure
from harvest.cli.app import app
from harvest.plugins.registry import manager
from harvest.recipes.recipe import Recipe, run_options
from harvest_look.plugins import print_plugin


def every_setting():
    found = manager()
    for kind in ("source", "sink", "engine"):
        for name in getattr(found, f"{kind}s"):
            config = getattr(found, kind)(name).Config
            for setting in describe(config):
                yield config, name, setting


NEEDED = {"slurm": {"memory": "4G"}}
"""Settings that must stand beside a word."""


def test_a_plugin_is_shown_with_the_values_that_its_settings_may_have(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert print_plugin("parquet", json=False) == 0
    shown = capsys.readouterr().out
    assert "parquet.compression     zstd, gzip, snappy or none" in shown
    assert "parquet.row_group_rows  whole number, at least 1" in shown


def test_what_has_one_name_is_shown_together_and_a_machine_finds_the_source_first(capsys):
    print_plugin("slurm", json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["kind"] == "source"
    assert "slurm.job" in shown["record_types"]
    assert [other["kind"] for other in shown["others"]] == ["engine"]
    (layout,) = [s for s in shown["settings"] if s["name"] == "layout"]
    assert {"xdmod", "sonar"} <= set(layout["choices"])
    assert set(layout) >= {"name", "type", "default", "meaning"}


def test_a_word_that_is_not_allowed_is_answered_with_those_that_are():
    for config, name, setting in every_setting():
        if not setting.choices:
            continue
        with pytest.raises(ConfigError) as refused:
            structure(config, {setting.name: "zzz"}, plugin=name)
        assert all(word in str(refused.value) for word in setting.choices)


def test_every_choice_of_a_setting_is_taken():
    for config, name, setting in every_setting():
        for word in setting.choices:
            made = structure(config, {setting.name: word, **NEEDED.get(word, {})}, plugin=name)
            assert str(getattr(made, setting.name)).lower() == word


def test_help_of_a_run_shows_the_words_of_every_option(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    app(args=["run", "--help"], prog_name="harvest", standalone_mode=False)
    shown = capsys.readouterr().out
    for option, field in run_options().items():
        for word in field.metadata.get("words", ()):
            assert word in shown.partition(f"--{option} ")[2].partition("\n  --")[0]
            Recipe(**{field.name: word})
        if "words" in field.metadata:
            with pytest.raises(ConfigError) as refused:
                Recipe(**{field.name: "zzz"})
            assert all(word in str(refused.value) for word in field.metadata["words"])
    for engine in ("local", "dask", "slurm"):
        assert engine in shown.partition("--engine ")[2].partition("\n  --")[0]


def test_a_setting_given_by_o_is_that_given_by_set(capsys):
    given = []
    for option in ("-o", "--set"):
        run = ["run", "-s", "slurm:x", "-k", "parquet:out", option, "slurm.timezone=UTC"]
        app(args=[*run, "--print-config"], prog_name="harvest", standalone_mode=False)
        given.append(capsys.readouterr().out)
    assert given[0] == given[1]
    assert 'timezone = "UTC"' in given[0]
