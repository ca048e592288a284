"""One report in every form: terminal, page, CSV, LaTeX, JSON, pictures."""

import csv
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime

import polars as pl
import pytest
from browser import dumped
from commands import python_alone
from html_shown import Shown as Page
from hypothesis import given
from hypothesis import strategies as st

from harvest.errors import HarvestError, UsageError
from harvest_report import Column, LazySection, Notes, Plot, Report, Table, Tile
from harvest_report.latex import escape

NASTY = '<script>alert("1")</script> & \x1b[31m $x$ {50%} a_b ~^\\ #1 =1+1 "q" \'s\' [x] --|`'
ROWS = pl.DataFrame(
    {
        "name": ["one", NASTY, None],
        "n": [1, 20_000, None],
        "mean_s": [1.23456, -2.5, None],
        "wait_s": [59.6, 93_784.0, None],
        "share": [0.5, 1.0, None],
        "day": [date(2024, 2, 29), None, None],
        "time": [datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), None, None],
        "flag": [True, False, None],
    }
)
COLUMNS = (
    Column("name"),
    Column("n", "jobs"),
    Column("mean_s", "mean", "s", doc="of <all> jobs"),
    Column("wait_s", "wait", None, "duration"),
    Column("share", "share", None, ".0%"),
    Column("day"),
    Column("time"),
    Column("flag"),
)


def draw(figure):
    axes = figure.subplots()
    axes.loglog([1, 10, 1000], [1, 100, 1e5], label=NASTY)
    axes.set_title("cost in $ per $hour")
    axes.legend()


@pytest.fixture(scope="module")
def report():
    return made()


def made() -> Report:
    """A report whose plots have not been drawn."""
    return Report(
        f"Title {NASTY}",
        [f"Opening {NASTY}"],
        [
            Table("main", ROWS, COLUMNS, title=f"Table {NASTY}", group="name", note=NASTY),
            Table("second", pl.DataFrame({"a": [1, 2]})),
            Table("none", ROWS.clear()),
            Plot("curve", draw, f"Plot {NASTY}", alt=f"A curve. {NASTY}"),
            Plot("again", draw, "Plot", alt="Another curve."),
            Notes("notes", [NASTY, "second note"]),
        ],
        name="demo.report",
        facts=[("Dataset", NASTY)],
    )


# the terminal


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_is_never_wider_than_it_is(report, width):
    for line in report.text(width).splitlines():
        assert len(line) <= width


def test_values_are_shown_as_people_read_them(report):
    text = report.only("main").text(200)
    assert "20,000" in text
    assert "1.235" in text
    assert "0:01:00" in text  # 59.6 s
    assert "1-02:03:04" in text
    assert "50%" in text
    assert "2024-02-29 01:02:03" in text
    assert "–" in text


def test_a_scaled_column_is_shown_in_its_unit_and_exported_as_it_is(tmp_path):
    sizes = [*[2**30] * 5, 5 * 2**30 + 1, -(2**29), 1, -1, 0, None]
    column = Column("bytes", "size", "GiB", "+,.2f", scale=2**30)
    report = Report("Sizes", sections=[Table("sizes", pl.DataFrame({"bytes": sizes}), [column])])

    shown = report.text(60).split()[-6:]
    (as_csv,) = report.write(tmp_path / "sizes.csv")
    (section,) = report.to_dict()["sections"]

    # what rounds to nothing and is something says so
    assert shown == ["+5.00", "-0.50", "<+0.01", ">-0.01", "+0.00", "–"]
    assert as_csv.read_text().splitlines() == [
        "bytes",
        *("" if n is None else str(n) for n in sizes),
    ]
    assert [row["bytes"] for row in section["rows"]] == sizes
    assert (section["columns"][0]["unit"], section["columns"][0]["scale"]) == ("GiB", 2**30)


def test_no_escape_code_from_data_reaches_the_terminal(report):
    assert "\x1b" not in report.text()
    assert "\\x1b[31m" in report.text(300)


# the page


@pytest.fixture(scope="module", params=[pytest.param("html", marks=pytest.mark.slow)])
def page(report):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    return Page(report.html())


def test_the_page_runs_nothing_and_fetches_nothing(page):
    assert page.all("script") == page.all("link") == page.all("iframe") == page.all("img") == []
    (policy,) = (m["content"] for m in page.all("meta") if "http-equiv" in m)
    assert policy.startswith("default-src 'none'")
    for _, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href"):
                assert value.startswith(("#", "data:image/png;base64,", "data:text/csv;"))
            if name == "style":
                assert "url(h" not in value


def test_the_page_is_accessible(page):
    (html,) = page.all("html")
    assert html["lang"] == "en"
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for attributes in (a for _, a in page.elements if "aria-labelledby" in a):
        assert attributes["aria-labelledby"] in ids
    for svg in page.all("svg"):
        assert svg["role"] == "img"
    assert len(page.all("svg")) == 2
    assert {th["scope"] for th in page.all("th")} == {"col", "row"}
    for link in page.all("a"):
        assert link["href"][0] != "#" or link["href"][1:] in ids


def test_a_row_of_a_broad_table_names_its_values_for_small_screens():
    pytest.importorskip("jinja2")
    broad = Table("broad", pl.DataFrame({f"amount {n}": [10**12] for n in range(4)}))
    narrow = Table("narrow", pl.DataFrame({"a": [1], "b": [2]}))
    page = Page(Report("r", sections=[broad, narrow]).html())
    labels = [cell.get("data-label") for cell in page.all("td")]
    assert labels == ["amount 0", "amount 1", "amount 2", "amount 3", None, None]
    assert [table.get("class") for table in page.all("table")] == ["broad", None]


def test_no_amount_and_no_date_of_a_page_is_broken():
    pytest.importorskip("jinja2")
    lines = ["By -1.3 % to 1,024.5 GiB of 5 users.", "To <2026-02-11>."]
    text = Report("Run D2024-04-19_19:01:00_R1", lines).html()
    assert 'Run D<span class="whole">2024-04-19_19:01:00</span>_R1</h1>' in text
    assert 'By <span class="whole">-1.3 %</span> to <span class="whole">1,024.5 GiB</span>' in text
    assert 'To &lt;<span class="whole">2026-02-11</span>' in text


def test_plots_follow_the_colours_of_the_page(report, page):
    text = report.html()
    assert "prefers-color-scheme: dark" in text
    assert "var(--plot-ink, #1f2430)" in text
    assert "var(--plot-series-0, #0072b2)" in text


@pytest.mark.slow
def test_the_same_report_gives_the_same_bytes(report):
    assert made().html() == report.html()


@pytest.mark.slow
def test_drawing_leaves_no_state_behind(report):
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    report.html()
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert sys.modules["matplotlib.pyplot"].get_fignums() == []


@pytest.mark.slow
def test_a_users_own_matplotlib_style_changes_nothing(report):
    matplotlib = pytest.importorskip("matplotlib")
    from harvest_report import draw as drawing

    plain = drawing.to_svg(report.plots[0])
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.fonttype": "none"}):
        assert drawing.to_svg(made().plots[0]) == plain


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_opens_the_page_without_complaint(report, tmp_path):
    pytest.importorskip("matplotlib")
    (path,) = report.write(tmp_path / "page.html")
    assert len(Page(dumped(path, tmp_path)).all("svg")) == 2


# CSV and JSON


def test_csv_holds_names_and_all_digits(report, tmp_path):
    report.write(tmp_path / "main.csv")
    with (tmp_path / "main.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ROWS.columns
    assert rows[0] == ["one", "1", "1.23456", "59.6", "0.5", "2024-02-29",
                       "2024-02-29T01:02:03.000000Z", "true"]  # fmt: skip
    assert rows[1][0] == NASTY
    assert rows[2] == [""] * 8


def test_a_cell_that_a_spreadsheet_would_run_is_defused(tmp_path):
    table = Table("t", pl.DataFrame({"a": ["=1+1", "@x", "fine"]}))
    Report("r", sections=[table]).write(tmp_path / "t.csv")
    assert list(csv.reader((tmp_path / "t.csv").open())) == [["a"], ["'=1+1"], ["'@x"], ["fine"]]


def test_json_holds_everything_but_the_pictures(report, tmp_path):
    report.write(tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["title"] == report.title
    assert [s["kind"] for s in found["sections"]] == ["table"] * 3 + ["plot"] * 2 + ["notes"]
    assert found["sections"][0]["rows"][1]["n"] == 20_000
    assert found["sections"][0]["rows"][0]["time"] == "2024-02-29T01:02:03Z"


# LaTeX


def _unescaped(text):
    """What LaTeX prints for escaped text: an independent reading of its commands."""
    words = {
        "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textless": "<",
        "textgreater": ">", "textbar": "|", "textquotedbl": '"', "textquotesingle": "'",
        "textasciigrave": "`",
    }  # fmt: skip
    text = re.sub(r"\\(text[a-z]+)\{\}", lambda m: f"\0{ord(words[m[1]])};", text)
    text = re.sub(r"\\([{}$&#%_])", lambda m: f"\0{ord(m[1])};", text)
    text = text.replace("{[}", "[").replace("{]}", "]").replace("{*}", "*").replace("{}", "")
    assert not set(text) & set("\\{}$&#%_^~")
    return re.sub("\0([0-9]+);", lambda m: chr(int(m[1])), text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_latex_prints_what_was_written(text):
    assert _unescaped(escape(text)) == text
    assert "--" not in escape(text)


def test_latex_is_set_in_booktabs(report):
    text = report.latex()
    for word in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{lrrrrlll}"):
        assert word in text
    assert r"mean (s)" in text
    assert r"\ensuremath{-}2.500" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(report, tmp_path):
    if (
        not shutil.which("kpsewhich")
        or not subprocess.run(
            ["kpsewhich", "booktabs.sty"], capture_output=True, check=False
        ).stdout
    ):
        pytest.skip("the package booktabs is not installed")
    report.write(tmp_path / "tables.tex")
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{textcomp,booktabs}"
        "\\begin{document}\\input{tables}\\end{document}"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]


# files and directories


@pytest.mark.slow
def test_a_directory_holds_every_form(report, tmp_path):
    pytest.importorskip("matplotlib")
    written = report.write(f"{tmp_path}/all/")
    assert sorted(p.name for p in written) == sorted(p.name for p in (tmp_path / "all").iterdir())
    assert {p.name for p in written} == {
        "report.html", "report.txt", "report.tex", "report.json", "main.csv", "second.csv",
        "none.csv", "curve.png", "curve.svg", "again.png", "again.svg",
    }  # fmt: skip


def test_one_section_alone(report, tmp_path):
    (path,) = report.only("second").write(tmp_path / "second.csv")
    assert path.read_text() == "a\n1\n2\n"
    with pytest.raises(UsageError, match="did you mean 'second'"):
        report.only("secnd")


def test_a_lazy_section_is_made_when_it_is_asked_for_and_once(tmp_path):
    # given a report of two lazy tables, the second with notes of its own
    made = []

    def section(name, *notes):
        made.append(name)
        return [Table(name, pl.DataFrame({"n": [1]})), *notes]

    report = Report(
        "Lazy",
        sections=[
            LazySection("first", lambda: section("first")),
            LazySection("second", lambda: section("second", Notes("gaps", ["none"]))),
        ],
    )
    # when the main table is written, then no other is made
    assert made == []
    report.write(tmp_path / "main.csv")
    assert made == ["first"]
    # one alone makes no other either, and what was made is not made again
    assert report.only("second").text() == report.only("second").text()
    assert made == ["first", "second"]
    # what came with a section is found by its own name, too
    assert report.only("gaps").sections[0].items == ("none",)
    assert [each.name for each in report.sections] == ["first", "second", "gaps"]
    assert made == ["first", "second"]
    # what is no section is refused when it is made
    with pytest.raises(TypeError, match="is not a section of a report"):
        _ = Report("Wrong", sections=[LazySection("wrong", lambda: ["words"])]).sections


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("r.docx", "unknown file ending"),
        ("absent/r.html", "no such directory"),
        ("absent/dir/", "no such directory"),
    ],
)
def test_a_target_that_does_not_suit_is_told(report, tmp_path, target, told):
    with pytest.raises(UsageError, match=told):
        report.write(f"{tmp_path}/{target}")
    assert list(tmp_path.iterdir()) == []


def test_a_report_without_plots_has_no_picture(tmp_path):
    with pytest.raises(UsageError, match="no plot"):
        Report("r").write(tmp_path / "r.svg")
    with pytest.raises(UsageError, match="no table"):
        Report("r").write(tmp_path / "r.csv")


@pytest.mark.parametrize(("absent", "ending"), [("matplotlib", "png"), ("jinja2", "html")])
def test_a_missing_library_is_named_with_its_remedy(tmp_path, monkeypatch, absent, ending):
    monkeypatch.setitem(sys.modules, absent, None)
    report = made()
    with pytest.raises(HarvestError, match=f"needs {absent}.*extra 'report'"):
        report.only("curve").write(tmp_path / f"r.{ending}")
    assert report.only("main").text()
    assert list(tmp_path.iterdir()) == []


def test_importing_reports_needs_nothing_of_the_extra():
    code = (
        "import sys, harvest_report; "
        "print([m for m in ('matplotlib', 'jinja2') if m in sys.modules])"
    )
    done = python_alone(code)
    assert done.stdout.strip() == "[]"


# what a plugin can get wrong


def test_a_section_is_a_table_a_plot_or_notes():
    with pytest.raises(TypeError, match="'words' is not a section of a report"):
        Report("r", sections=["words"])


def test_names_are_plain_words():
    with pytest.raises(ValueError, match="use letters"):
        Table("../etc", ROWS)
    with pytest.raises(ValueError, match="two sections"):
        Report("r", sections=[Notes("a", []), Notes("a", [])])
    with pytest.raises(ValueError, match="lack x"):
        Table("t", ROWS, [Column("x")])


@given(st.floats(-1e7, 1e7))
def test_a_duration_reads_back(seconds):
    from harvest_report.values import rows_of_text

    table = Table("t", pl.DataFrame({"s": [seconds]}), [Column("s", format="duration")])
    ((text,),) = rows_of_text(table)
    sign, days, hours, minutes, rest = re.fullmatch(
        r"(-?)(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)", text
    ).groups()
    read = int(days or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60 + int(rest)
    assert abs((-read if sign else read) - seconds) <= 0.5


@pytest.mark.slow
def test_a_report_begins_with_its_key_numbers_and_its_picture(tmp_path):
    # given a report whose second plot matters most, and key numbers that a view must be asked for
    asked = []

    def tiles():
        asked.append("tiles")
        yield Tile("jobs that waited", "4,245", "of 5,000")

    def plot(name: str) -> Plot:
        return Plot(name, lambda figure: figure.subplots().plot([1, 2]), name, f"This is {name}.")

    table = Table("waits", pl.DataFrame({"wait_s": [1, 2]}))
    made = Report("Waits", ["Text."], [table, plot("p1"), plot("p2")], tiles=tiles, picture="p2")

    # when the table alone is written, then none is computed
    made.write(tmp_path / "waits.csv")
    assert asked == []

    # when it is shown, then they come first, and the picture stands once
    page, text = made.html(), made.text()
    assert page.index("4,245") < page.index("This is p2.") < page.index("Text.")
    assert page.index("Text.") < page.index("This is p1.")
    assert page.count("This is p2.") == 1
    assert text.index("jobs that waited: 4,245 (of 5,000)") < text.index("Text.")
    assert made.to_dict()["tiles"] == [
        {"label": "jobs that waited", "value": "4,245", "note": "of 5,000"}
    ]
    assert asked == ["tiles"]
    # and it is what a file with one picture holds
    made.write(tmp_path / "waits.svg")
    made.only("p2").write(tmp_path / "p2.svg")
    assert (tmp_path / "waits.svg").read_bytes() == (tmp_path / "p2.svg").read_bytes()


def test_without_a_picture_named_the_first_plot_is_it():
    one = Plot("p1", lambda figure: None, "One", "One.")

    assert Report("Waits", sections=[Notes("n", ["Text."]), one]).picture is one
    assert Report("Waits", sections=[one], picture="absent").picture is one
    assert Report("Waits").picture is None


@pytest.mark.slow
def test_files_of_one_figure_are_those_that_are_drawn_alone():
    pytest.importorskip("matplotlib")
    from harvest_report import draw as drawing

    together = drawing.draw(made().plots[0], "svg", "png")

    assert together["svg"] == drawing.to_svg(made().plots[0])
    assert together["png"] == drawing.to_png(made().plots[0])
