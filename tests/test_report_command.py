"""Asking a dataset for a report: from Python and from the command line."""

import json
import sys
from types import ModuleType

import polars as pl
import pytest
from datasets import plugins_with

import harvest
from harvest import ReportSpec
from harvest.cli import main
from harvest_report import Notes, Report, Table


class Sentence:
    """A report of a stranger's, which is no Report of the library."""

    def __init__(self, said):
        self.said = said

    def completed(self, context):
        return Sentence(f"{context.name}: {self.said} {'; '.join(context.gaps)}")

    def text(self, width):
        return f"{self.said[:width]}\n"

    def to_dict(self):
        return {"said": self.said}


def lengths(dataset, least="0"):
    rows = dataset.view("demo.lengths", least=least).collect()
    return Report("Lengths of lines", ["How long they are."], [Table("lengths", rows)])


@pytest.fixture
def plugins(monkeypatch):
    """A manager that knows the demo plugin and one with reports, also for the command line."""
    module = ModuleType("demo_reports")
    declared = [
        ReportSpec(
            name="demo.lengths",
            doc="How long lines are.",
            build=lengths,
            requires=("demo.line",),
            settings={"least": "shortest length"},
        ),
        ReportSpec(
            name="demo.partly",
            doc="Reads two types.",
            build=lambda dataset: Report("Partly", sections=[Notes("n", ["x"])]),
            requires=("demo.line", "demo.other"),
        ),
        ReportSpec(
            name="demo.absent",
            doc="Reads what nothing brings.",
            build=lengths,
            requires=("demo.other",),
        ),
        ReportSpec(
            name="demo.own",
            doc="Gives a report of a class of its own.",
            build=lambda dataset: Sentence("three lines;"),
            requires=("demo.line", "demo.other"),
        ),
        ReportSpec(name="demo.wrong", doc="Gives no report.", build=lambda dataset: "text"),
    ]
    module.harvest_reports = harvest.hookimpl(lambda: declared)
    monkeypatch.setitem(sys.modules, "demo_reports", module)
    found = plugins_with(demo="harvest_demo", reports="demo_reports")
    assert not found.broken
    for user in ("harvest_look.asked", "harvest_look.commands.asking", "harvest.dataset.dataset"):
        monkeypatch.setattr(f"{user}.manager", lambda: found)
    return found


@pytest.fixture
def out(tmp_path, plugins):
    """A dataset of three lines."""
    (tmp_path / "a.demo").write_text("one\ntwo\nthree\n")
    harvest.run(f"demo:{tmp_path / 'a.demo'}", f"arrow-demo:{tmp_path / 'out'}", plugins=plugins)
    return tmp_path / "out"


@pytest.fixture
def harvest_report(capsys):
    """The command ``harvest report``: gives its exit code, output and errors."""

    def go(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["report", *map(str, arguments)])
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return go


def test_from_python(out, plugins):
    report = harvest.open(out, plugins=plugins).report("demo.lengths", least=4)

    assert report.name == "demo.lengths"
    assert report.tables[0].rows.equals(
        pl.DataFrame({"length": [5], "lines": [1]}), null_equal=True
    )
    assert dict(report.facts)["Settings"] == "least=4"


def test_reports_are_listed(plugins, harvest_report):
    code, text, _ = harvest_report()
    assert code == 0
    assert "demo.lengths" in text
    listed = json.loads(harvest_report("--json")[1])
    assert listed[1]["settings"] == {"least": "shortest length"}


def test_a_report_on_the_terminal_as_json_and_as_a_file(out, harvest_report, tmp_path):
    code, text, _ = harvest_report("demo.lengths", out)
    assert (code, "Lengths of lines" in text) == (0, True)

    code, text, _ = harvest_report("demo.lengths", out, "--set", "least=4", "--json")
    assert json.loads(text)["sections"][0]["rows"] == [{"length": 5, "lines": 1}]

    code, text, _ = harvest_report("demo.lengths", out, "-o", tmp_path / "l.csv")
    assert (code, (tmp_path / "l.csv").read_text()) == (0, "length,lines\n3,2\n5,1\n")
    assert "l.csv" in text


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("demo.length",), 2, "did you mean 'demo.lengths'"),
        (("demo.lengths",), 2, "harvest report demo.lengths DATASET"),
        (("demo.lengths", "OUT", "--set", "leest=4"), 2, "did you mean 'least'"),
        (("demo.lengths", "OUT", "--set", "least"), 2, "write --set KEY=VALUE"),
        (("demo.lengths", "OUT", "--only", "length"), 2, "did you mean 'lengths'"),
        (("demo.lengths", "OUT", "-o", "x.docx"), 2, "unknown file ending"),
        (("demo.absent", "OUT"), 1, "demo.other: no installed source brings it"),
        (("demo.partly", "OUT", "--set", "x=1"), 2, "it has none"),
        (("demo.wrong", "OUT"), 1, "gave a str, not a report: it has no method completed(context)"),
    ],
)
def test_mistakes_are_told_without_a_traceback(out, harvest_report, arguments, code, told):
    found, _, errors = harvest_report(*(out if a == "OUT" else a for a in arguments))
    assert found == code
    assert told in errors
    assert "Traceback" not in errors


def test_what_is_partly_absent_is_a_note(out, plugins):
    report = harvest.open(out, plugins=plugins).report("demo.partly")
    assert report.sections[-1].title == "Not in the dataset"
    assert "demo.other" in report.sections[-1].items[0]


def test_a_report_of_a_class_of_its_own_is_told_what_the_dataset_knows(
    out, plugins, harvest_report
):
    missing = "demo.other: no installed source brings it; install the plugin that does"
    own = harvest.open(out, plugins=plugins).report("demo.own")
    assert own.said == f"demo.own: three lines; {missing}"
    assert harvest_report("demo.own", out)[:2] == (0, f"{own.said[:80]}\n")
    assert json.loads(harvest_report("demo.own", out, "--json")[1]) == {"said": own.said}
