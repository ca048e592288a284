"""What a notebook shows of runs, datasets, findings and reports, and while a run goes on."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pexpect
import polars as pl
import pytest
from html_shown import Shown

import harvest
from harvest import Finding, Rule, UsageError
from harvest.api.rule import Threshold
from harvest.findings.model import Verdict
from harvest.pipeline import progress
from harvest_report import Column, Notes, Plot, Report, Table
from harvest_testing import judge

NASTY = "<img src=x onerror=alert(1)> & \"q\" 's'"


def shown(value: object) -> Shown:
    return Shown(value._repr_html_())


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A folder whose name is markup, with lines of which one is bad and one is filtered."""
    folder = tmp_path / NASTY.replace("/", "")
    folder.mkdir()
    (folder / "a.demo").write_text("one\nthree\nbad\nskip\n")
    return folder


@pytest.fixture
def result(lines, demo_plugins):
    return harvest.run(f"demo:{lines}", f"arrow-demo:{lines / 'out'}", plugins=demo_plugins)


@pytest.fixture
def dataset(result, lines, demo_plugins):
    return harvest.open(lines / "out", plugins=demo_plugins)


# --- results and datasets


def test_a_result_shows_the_account_of_the_run(result, lines):
    found = shown(result)

    # given 4 lines, 2 are rows, 1 is filtered and 1 rejected
    row = found.texts.index("demo")
    assert found.texts[row : row + 8] == ["demo", "1", "0", "4", "2", "1", "0", "1"]
    assert found.texts[found.texts.index("demo.line") + 1] == "2"
    assert "filtered: unwanted line" in found.texts
    assert found.texts[0] == f"2 rows and 1 reject committed to {lines / 'out'} as run {result.run}"
    assert "img" not in found.tags


def test_a_result_in_a_shell_is_one_short_line(result, lines, demo_plugins):
    again = harvest.run(f"demo:{lines}", f"arrow-demo:{lines / 'out'}", plugins=demo_plugins)
    dry = harvest.run(
        f"demo:{lines}", f"arrow-demo:{lines / 'new'}", dry_run=True, plugins=demo_plugins
    )

    assert repr(result).startswith("<RunResult: 2 rows and 1 reject committed to ")
    assert repr(again) == f"<RunResult: nothing new for {lines / 'out'}>"
    assert repr(dry) == f"<RunResult: 1 of 1 partitions would be read for {lines / 'new'}>"
    assert "2 rows" not in shown(dry).texts


def test_a_dataset_shows_what_it_holds_and_how_to_ask(dataset, lines):
    found = shown(dataset)

    row = found.texts.index('dataset["demo.line"]')
    assert found.texts[row + 1 : row + 4] == ["2", "1", "demo"]
    assert 'dataset.view("demo.lengths")' in found.texts
    assert found.texts[0].startswith(f"Dataset {lines / 'out'}: 2 rows from 1 input, ")
    assert "1 input unit could not be read: dataset.rejects()" in found.texts
    assert "img" not in found.tags
    assert repr(dataset) == f"<Dataset {str(lines / 'out')!r}: 2 rows of 1 record type>"


def test_the_columns_of_a_record_type_and_of_a_view_are_described(dataset):
    kind, view = dataset.describe("demo.line"), dataset.describe("demo.lengths")

    assert (kind.columns[1].name, kind.columns[1].unit, kind.columns[1].doc) == (
        "length", "characters", "How long it is.",
    )  # fmt: skip
    # of the view's own columns, one is passed on from the record type
    assert [(c.name, c.unit) for c in view.columns] == [("length", "characters"), ("lines", None)]
    assert "length    characters  How long it is." in repr(kind).splitlines()
    assert "How long it is." in shown(view).texts
    with pytest.raises(UsageError, match="no record type and no view") as e:
        dataset.describe("demo.lenghts")
    assert "demo.lengths" in str(e.value.remedy)


@pytest.mark.pandas
def test_a_view_goes_to_pandas(dataset):
    pytest.importorskip("pandas", reason="pandas is not installed")

    assert dataset.view("demo.lengths").collect().to_pandas()["length"].tolist() == [3, 5]


# --- findings


RULE = Rule(
    name="test.long",
    doc="Lines that are long.",
    view="test.lines",
    where="length > {most}",
    columns=("text", "length"),
    judge=lambda rows, total, *, most: [
        Finding(
            "high",
            f"{rows['text'][0]} is longer than {most}",
            f"It has {rows['length'][0]} characters.",
            {"text": rows["text"][0]},
        )
    ],
    advice=f"Write less {NASTY}",
    reference="this test",
    thresholds={"most": Threshold(2, "length")},
)


def test_findings_show_what_to_try_and_the_evidence():
    rows = pl.DataFrame({"text": [NASTY, "b"], "length": [4000, 1]})

    verdict = Verdict(tuple(judge(RULE, rows)))
    found = shown(verdict)

    assert repr(verdict) == "<Verdict: 1 finding: 1 high.>"
    assert f"HIGH: {NASTY} is longer than 2" in found.texts
    assert f"Next: Write less {NASTY}" in found.texts
    assert "It has 4000 characters." in found.texts
    # the rows of the finding, as one writes them in a cell
    (where,) = re.findall(
        r"^Evidence: 1 row of dataset\.view\('test\.lines'\)\.filter\(pl\.sql_expr\((.*)\)\):$",
        "\n".join(found.texts), re.MULTILINE,
    )  # fmt: skip
    assert rows.filter(pl.sql_expr(ast.literal_eval(where)))["text"].to_list() == [NASTY]
    assert found.texts[-3:-1] == [NASTY, "4,000"]
    assert "img" not in found.tags


# --- reports


@pytest.fixture
def report():
    drawn: list[str] = []

    def draw(figure) -> None:
        drawn.append("drawn")
        figure.subplots().plot([1, 2], label=NASTY)

    made = Report(
        f"Title {NASTY}",
        [f"Opening {NASTY}"],
        [
            Table(
                "main", pl.DataFrame({"name": [NASTY], "n": [20_000]}),
                [Column("name"), Column("n", "jobs", "h", doc=f"Hours {NASTY}")], note=NASTY,
            ),
            Plot("curve", draw, f"Plot {NASTY}", alt=f"A curve {NASTY}"),
            Notes("notes", [NASTY]),
        ],
        name="test.page",
    )  # fmt: skip
    return made, drawn


@pytest.mark.slow
def test_a_report_in_a_notebook_fetches_nothing_and_changes_nothing_else(report):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    text = report[0]._repr_html_()
    found = Shown(text)

    assert {"svg", "table", "style"} <= found.tags
    assert not found.tags & {"script", "link", "img", "iframe", "html", "head", "body"}
    assert all(not name.startswith("on") for _, given in found.elements for name in given)
    assert [given for tag, given in found.elements if tag == "a"] == []
    assert sum(NASTY in words for words in found.texts) >= 6
    # each rule of the style begins with the report's own element
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    outermost = re.sub(r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}", "{}", style)
    for selector in re.findall(r"([^{}]+)\{\}", outermost):
        assert selector.split()[-1] == ".harvest-report.harvest-report"


@pytest.mark.slow
def test_two_reports_in_a_notebook_have_no_id_in_common(report):
    pytest.importorskip("matplotlib")
    made, _ = report
    table, curve = made.only("main"), made.only("curve")
    other = Report("Other", sections=table.sections, name="test.other")

    ids = shown(table).ids + shown(curve).ids + shown(other).ids

    assert len(ids) == len(set(ids)) > 4
    labels = {given.get("aria-labelledby") for _, given in shown(curve).elements} - {None}
    assert labels <= set(shown(curve).ids)


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_without_the_extra_a_report_has_its_tables_and_says_what_brings_the_rest(
    report, library, monkeypatch
):
    monkeypatch.setitem(sys.modules, library, None)
    made, drawn = report

    found = shown(made)

    assert drawn == []
    assert "1 plot: to see them, install hpc-harvest[report]" in found.texts
    assert found.texts[found.texts.index("jobs (h)") + 1 :][:2] == [NASTY, "20,000"]
    assert "img" not in found.tags


# --- progress


def harvested(lines: Path, plugins, out: str, **options) -> None:
    harvest.run(f"demo:{lines}", f"arrow-demo:{lines / out}", plugins=plugins, **options)


def test_where_nobody_watches_nothing_is_shown_unless_wanted(
    lines, demo_plugins, capsys, monkeypatch
):
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", -1.0)

    harvested(lines, demo_plugins, "a")
    harvested(lines, demo_plugins, "b", progress=False)
    assert capsys.readouterr() == ("", "")

    harvested(lines, demo_plugins, "c", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0].startswith("harvest: 0/1 partitions, 0 of 0 MB, 2 rows")


def test_who_observes_a_run_is_called_in_place_of_the_display(lines, demo_plugins, capsys):
    class Counting(progress.Observer):
        rows = 0

        def progressed(self, progress):
            self.rows += progress.rows

    observer = Counting()
    harvested(lines, demo_plugins, "a", progress=True, observer=observer)

    assert observer.rows == 2
    assert capsys.readouterr() == ("", "")


SCRIPT = """
import sys
import harvest
print(harvest.run(sys.argv[1], sys.argv[2]).account.written)
"""


@pytest.mark.slow
def test_a_script_shows_a_bar_on_a_terminal_and_nothing_in_a_log(tmp_path, paced):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    words = ["-c", SCRIPT, f"paced:{tmp_path / 'a.txt'}"]
    environment = {"PYTHONPATH": f"{paced}:{Path(__file__).parent / 'support'}", "TERM": "xterm"}

    logged = subprocess.run(
        [sys.executable, *words, f"jsonl:{tmp_path / 'a'}"], env=environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    child = pexpect.spawn(
        sys.executable, [*words, f"jsonl:{tmp_path / 'b'}"], env=environment,
        dimensions=(24, 80), encoding="utf-8", timeout=60,
    )  # fmt: skip

    assert (logged.stdout, logged.stderr) == ("2\n", "")
    child.expect(r"1/1 parts")
    child.expect("2\r\n")
    child.expect(pexpect.EOF)


@pytest.mark.slow
def test_a_cell_of_a_notebook_shows_a_bar_and_leaves_a_line(tmp_path, paced, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.setenv("PYTHONPATH", f"{paced}:{Path(__file__).parent / 'support'}")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    source, sink = f"paced:{tmp_path / 'a.txt'}", f"jsonl:{tmp_path / 'out'}"
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(f"import harvest\nharvest.run({source!r}, {sink!r})"),
            nbformat.v4.new_code_cell(
                f"harvest.run({source!r}, {sink!r}, force=True, progress=False)"
            ),
        ]
    )
    updates = []

    class Client(nbclient.NotebookClient):
        def process_message(self, message, *rest):
            if message["msg_type"] in ("display_data", "update_display_data"):
                updates.append(message["content"]["data"]["text/html"])
            return super().process_message(message, *rest)

    Client(notebook, timeout=120, kernel_name="python3").execute()

    line, result = notebook.cells[0].outputs
    assert updates[0].startswith('<progress value="0" max="8"></progress>')
    pattern = r"<small>read 1 of 1 part, 8 bytes, 2 rows in .*</small>"
    assert re.fullmatch(pattern, line.data["text/html"])
    assert "2 rows committed to" in result.data["text/html"]
    assert [output.output_type for output in notebook.cells[1].outputs] == ["execute_result"]
