"""``harvest plugins check``: which promises plugins keep."""

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import attrs
import polars as pl
import pytest

import harvest
import harvest_testing
from harvest.columns import count, flag
from harvest.errors import UsageError
from harvest.plugins.registry import PluginManager
from harvest_parquet.sink import ParquetSink
from harvest_testing.check import check_promises
from harvest_testing.commands import check
from harvest_testing.declarations import check_plugin
from harvest_testing.sinks.values import LINE, lines

PLUGIN = '''
import harvest
from harvest import Record, Source, field

@harvest.record("checked.line", layer="workflow", level="client")
class Line(Record):
    """One line."""
    text: str = field(role="subject", doc="The line.")

class LineSource(Source):
    """Lines."""
    name, record_types = "checked", (Line,)
    def read(self, partition, ctx):
        for number, raw in enumerate(partition.path.read_bytes().splitlines(), 1):
            ctx.advance(len(raw))
            yield Line(text=raw.decode(ERRORS), position=number)
'''


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """A manager of one plugin, sound or not."""

    def made(name: str, code: str) -> PluginManager:
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        found = PluginManager([EntryPoint("checked", f"{name}:LineSource", "harvest")], disabled="")
        monkeypatch.setattr("harvest_testing.check.manager", lambda: found)
        return found

    return made


def results(plugins, **more):
    return {f.promise: f.result for f in check_promises(plugins, "checked", **more)}


@pytest.mark.slow
def test_a_sound_plugin_keeps_what_can_be_tried(plugins, tmp_path):
    found = plugins("sound", PLUGIN.replace("ERRORS", "'utf-8', 'backslashreplace'"))
    without = results(found)
    (tmp_path / "sample.txt").write_text("good\nmorning\n")
    within = results(found, sample=tmp_path / "sample.txt")

    assert "broken" not in {*without.values(), *within.values()}
    tried = [sum(result == "kept" for result in all_.values()) for all_ in (without, within)]
    assert tried[0] >= 2
    assert tried[1] > 15


def test_a_broken_promise_is_told_and_ends_with_1(plugins, capsys, tmp_path):
    plugins("strict", PLUGIN.replace("ERRORS", ""))
    (sample := tmp_path / "sample.txt").write_text("good\nmorning\n")

    assert check(["checked"], sample=sample) == 1
    told = capsys.readouterr().out
    assert "FAILED   checked: source checked: damaged input becomes rows and rejects" in told
    assert "UnicodeDecodeError" in told
    assert "skipped  checked: source checked: " in told

    assert check(["checked"], sample=sample, json=True) == 1
    document = json.loads(capsys.readouterr().out)
    assert {"kept", "broken", "skipped"} == {found["result"] for found in document["checked"]}


def test_a_sample_is_for_one_plugin_and_must_be_there(plugins, tmp_path):
    found = plugins("absent", PLUGIN.replace("ERRORS", ""))
    with pytest.raises(UsageError, match="for one plugin"):
        check([], sample=tmp_path)
    with pytest.raises(UsageError, match="no such file"):
        list(check_promises(found, "checked", sample=tmp_path / "nowhere"))


KINDS = ("Source", "View", "Report", "Sink", "Engine", "Exporter")


@pytest.mark.parametrize("kind", KINDS)
def test_every_promise_is_documented(kind):
    kit = getattr(harvest_testing, f"{kind}Conformance")
    page = (Path(__file__).resolve().parents[3] / "docs" / "testing-plugins.md").read_text()
    for name in (n for n in dir(kit) if n.startswith("test_")):
        assert f"`{name}" in page, f"{name} is not in docs/testing-plugins.md"


class Known:
    """A plugin with a view, whose rows a column of true and null tells apart, and a rule on it."""

    @harvest.hookimpl
    def harvest_rules(self):
        texts = dict.fromkeys(("doc", "advice", "reference"), "A.")
        asked = {"view": "demo.known", "where": "words > 1", "columns": ("lines", "who")}
        return [harvest.Rule(name="demo.few", judge=print, **asked, **texts)]

    @harvest.hookimpl
    def harvest_views(self):
        rows = pl.LazyFrame({"known": [True, None], "lines": [1, 2]})
        columns = (
            flag("known", "Whether it is known; null if not said."),
            count("lines", "Lines."),
        )
        return [harvest.View(name="demo.known", doc="A.", build=lambda _: rows, columns=columns)]


def test_a_rule_may_ask_for_columns_of_its_view_alone():
    plugins = harvest.plugins_of(Known())
    found = [each for name in plugins.plugins for each in check_plugin(plugins, name)]
    assert found == [f"demo.few: unknown column {n!r} of demo.known" for n in ("words", "who")]


def test_a_key_may_be_a_column_that_is_true_or_null():
    dataset = harvest.Dataset.blank(harvest.plugins_of(Known()))

    assert harvest_testing.faults_of_unknown(dataset, dataset, "demo.known", ("known",)) == []


def test_a_sink_that_reports_fewer_rows_than_it_wrote_is_found(tmp_path):
    driver = harvest_testing.SinkDriver(ParquetSink(str(tmp_path / "out")), small_bytes=0)
    driver.commit({"a": [(LINE, lines(LINE, 1)), (LINE, lines(LINE, 2))]})
    driver.files = {"a": tuple(attrs.evolve(file, rows=1) for file in driver.files["a"])}
    with pytest.raises(harvest_testing.BrokenPromise, match="reports 1 of 2 rows of"):
        harvest_testing.SinkConformance().require_rows(driver, LINE, lines(LINE, 1, 2), after="a")
