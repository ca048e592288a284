"""``harvest schema``: record types and views, each column with its type, unit and meaning."""

import functools
import json

import jsonschema
import pytest
from night import one_of_each

import harvest
from harvest.model.frames import arrow_type_of
from harvest.plugins.building import columns_of
from harvest.plugins.registry import manager
from harvest_look.schema import print_schema, view_schema
from harvest_look.tools import export

CHOICES = {"scan": "all", "now": "2026-01-11", "old": "all.list", "new": "some.list"}
"""What views want where lists of files do not say when they were made."""


schema_of = functools.cache(lambda name: view_schema(manager().view(name), manager()))


@pytest.fixture(scope="module")
def dataset(everything):
    return harvest.open(everything)


def shown(capsys, name, form="table"):
    assert print_schema(name, form) == 0
    return capsys.readouterr().out


def test_a_view_is_shown_with_what_it_reads_its_settings_and_its_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    lines = shown(capsys, "dask.tasks").splitlines()
    assert lines[0].startswith("dask.tasks, a view of dask.task_transition, ")
    assert any(line.startswith("key ") and "keep one task" in line for line in lines)
    (line,) = [line for line in lines if line.startswith("duration_s ")]
    assert line.split()[1:3] == ["double", "s"]


def test_a_view_in_every_other_form(capsys):
    described = json.loads(shown(capsys, "dask.tasks", "json-schema"))
    assert described["properties"]["size_bytes"]["x-unit"] == "bytes"
    assert described["x-settings"]["run"]
    assert "size_bytes: int64" in shown(capsys, "dask.tasks", "arrow")
    page = shown(capsys, "dask.tasks", "markdown")
    assert page.startswith("## dask.tasks\n")
    assert "| `size_bytes` | int64 | bytes |" in page
    assert "list&lt;item: string>" in page  # no tag of HTML


def test_all_record_types_and_views_are_listed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    types, _, views = shown(capsys, None).partition("\nview\n")
    assert {line.split(" ")[0] for line in types.splitlines()[1:]} >= {"dask.transfer", "slurm.job"}
    assert "\ndask.tasks\n" in f"\n{views}"
    # machines that ask for all get what they always got
    assert set(json.loads(shown(capsys, None, "json-schema"))) == set(manager().record_types())


@pytest.mark.parametrize("name", one_of_each(sorted(manager().views)))
def test_the_types_of_every_view_are_known_before_anything_is_harvested(name):
    found = schema_of(name)
    assert found.unknown == ""
    assert found.columns
    # only a setting can add a column
    assert len(found.types) == len(found.columns) or found.view.settings


@pytest.mark.slow
def test_the_rows_of_views_are_what_their_schema_says(dataset):
    for name in one_of_each(dataset.views()):
        view = manager().view(name)
        choices = {key: value for key, value in CHOICES.items() if key in view.settings}
        frame = dataset.view(name, **choices)
        found = schema_of(name)
        real = {column: arrow_type_of(kind) for column, kind in frame.collect_schema().items()}
        assert found.types == real, name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dask.tasks", "slurm.usage"])
def test_rows_written_as_json_fit_the_json_schema(dataset, tmp_path, name):
    path = tmp_path / "rows.jsonl"
    assert export(dataset.view(name), path)
    schema = view_schema(manager().view(name), manager()).json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        validator.validate(row)
        assert set(row) <= set(schema["properties"])


@pytest.mark.slow
def test_each_column_has_the_meaning_that_its_view_gives_it():
    for view in manager().views.values():
        meanings = columns_of(view, manager())
        for column in schema_of(view.name).columns:
            if column.name in meanings:
                assert column.doc == meanings[column.name].doc
