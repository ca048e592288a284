"""What a user gives to a view, a report or a query is used, or refused with what is allowed."""

import contextlib

import polars as pl
import pytest
from commands import harvest_here
from datasets import plugins_with
from night import NIGHT, one_of_each

import harvest
from harvest import HarvestError, ReportSpec, UsageError, View, declare
from harvest.toolkit.steps import watched
from harvest_look.choice import Choice
from harvest_report import LazySection, Notes, Report, Tile

MEANING = "how many rows to give"


def first(dataset, *, n="3", name="a"):
    """The first numbers: settings are read as any author would."""
    return pl.LazyFrame({name: range(int(n))})


def noted(dataset, *, n="3"):
    return Report(title="noted", sections=(Notes("n", [f"{int(n)}"]),))


def lazy(dataset, *, n="3"):
    """As ``noted``, but its section is made when it is shown."""
    return Report("lazy", sections=[LazySection("n", lambda: Notes("n", [f"{int(n)}"]))])


def tiled(dataset, *, n="3"):
    return Report("tiled", tiles=lambda: [Tile("n", f"{int(n)}")])


SETTINGS = {"n": MEANING}
harvest_views = declare(
    View(name="test.first", doc="-", build=first, settings=SETTINGS | {"name": "of the column"})
)
harvest_reports = declare(
    *(ReportSpec(name=f"test.{build.__name__}", doc="A number.", build=build, settings=SETTINGS)
      for build in (noted, lazy, tiled))
)  # fmt: skip


@pytest.fixture
def dataset(everything):
    """Rows of every source, opened with this module's view and report beside those installed."""
    plugins = plugins_with(parquet="harvest_parquet.plugin", test=__name__)
    return harvest.open(everything, plugins=plugins)


@pytest.mark.slow
def test_a_value_that_a_view_or_report_does_not_take_is_the_user_s_mistake(dataset):
    for ask, name in ((dataset.view, "test.first"), (dataset.report, "test.noted")):
        with pytest.raises(UsageError) as refused:
            ask(name, n="abc")

        # what was found, and what is allowed
        assert "does not take n='abc'" in str(refused.value)
        assert f"n: {MEANING}" in str(refused.value)


@pytest.mark.parametrize("name", ["lazy", "tiled"])
def test_a_report_refuses_a_value_in_the_same_words_when_it_is_shown(dataset, name):
    with pytest.raises(UsageError) as early:
        dataset.report("test.noted", n="abc")
    report, steps = dataset.report(f"test.{name}", n="abc"), []
    with pytest.raises(UsageError) as late, watched(steps.append):
        report.text()

    assert str(late.value) == str(early.value).replace("test.noted", f"test.{name}")
    assert f"report test.{name}" in steps


def test_a_setting_may_have_any_name(dataset):
    assert dataset.view("test.first", name="b").collect().columns == ["b"]
    with pytest.raises(UsageError, match="no setting 'self'"):
        dataset.report("test.noted", self="x")


def test_a_failure_without_settings_is_not_blamed_on_the_user(dataset, monkeypatch):
    monkeypatch.setattr(f"{__name__}.first.__kwdefaults__", {"n": "?", "name": "a"})
    with pytest.raises(ValueError, match="invalid literal"):
        dataset.view("test.first")


ODD = ["abc", "-1", "nan", "", "inf", "1e400", "é", "1;2"]


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD if NIGHT else ODD[:2])
def test_no_value_of_any_setting_of_an_installed_view_or_report_is_a_defect(everything, odd):
    dataset = harvest.open(everything)
    views, reports = dataset.plugins.views, dataset.plugins.reports
    asked = [(dataset.view, views[name]) for name in one_of_each(views)]
    asked += [(dataset.report, reports[name]) for name in one_of_each(reports)]
    for ask, name, key in [(ask, spec.name, key) for ask, spec in asked for key in spec.settings]:
        with contextlib.suppress(HarvestError):  # anything else would be a defect
            made = ask(name, **{key: odd})
            if isinstance(made, pl.LazyFrame):
                made.collect()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("view", "slurm.worst_days", "@", "--set", "top=abc"), "'abc'"),
        (("report", "slurm.summary", "@", "--set", "top=abc"), "'abc'"),
        (("view", "slurm.jobs", "@", "--set", "name=abc"), "no setting 'name'"),
        (("view", "slurm.worst_days", "@", "--set", "top=1", "--set", "top=2"), "'1' and as '2'"),
        (("view", "slurm.jobs", "@", "--json", "-o", "x.csv"), "give one of them"),
        (("query", "@", "select 1", "--json", "-o", "x.csv"), "give one of them"),
        (("query", "@", "select 1; select 2", "-o", "x.csv"), "2 queries for one output file"),
        (
            ("query", "@", "select 1; create table a as select 2"),
            "statement 2 is of the type CREATE",
        ),
        (("query", "@", "/* nothing */"), "0 statements"),
        (("rejects", "@", "--set", "slurm.timezone=UTC"), "--set needs --replay"),
        (("verify", "@", "--deleted", "drop"), "--deleted needs --repair"),
    ],
)
def test_nothing_that_a_user_gives_is_ignored(everything, words, said):
    done = harvest_here(*(everything if word == "@" else word for word in words))
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "defect" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "query",
    ["select ';' as a", "select 1 as a;", "select 1 as a -- ; select 2", 'select 1 as ";"',
     "/* ; */ select 1 as a;;"],
)  # fmt: skip
def test_a_semicolon_alone_makes_no_second_statement(everything, query):
    assert harvest.open(everything).sql(query).height == 1


@pytest.mark.slow
def test_rows_are_limited_in_every_form_of_a_view(everything, tmp_path):
    lines = harvest_here("view", "slurm.jobs", everything, "-n", "4", "--json").stdout.splitlines()
    harvest_here("view", "slurm.jobs", everything, "-n", "4", "-o", tmp_path / "a.csv")
    assert len(lines) == 4
    assert pl.read_csv(tmp_path / "a.csv").height == 4


@pytest.mark.parametrize("rows", [0, 19, 20, 21, 10_019, 10_020, 10_021])
def test_a_terminal_shows_the_first_rows_and_counts_all(rows):
    first, total = Choice().first(pl.LazyFrame({"a": range(rows)}))
    assert (first["a"].to_list(), total) == (list(range(min(rows, 20))), rows)


def test_a_query_gives_settings_to_the_views_that_it_names(dataset):
    query = 'select count(*) as rows from "test.first"'

    assert dataset.sql(query).item() == 3
    assert dataset.sql(query, settings={"test.first": {"n": "5"}}).item() == 5
    with pytest.raises(UsageError, match="which the query does not name"):
        dataset.sql("select 1", settings={"test.first": {"n": "5"}})


def test_show_tables_lists_what_can_be_asked(dataset):
    tables = dataset.sql("SHOW TABLES;")

    held = tables.filter(kind="record type").select("name", "rows").rows()
    assert dict(held) == dataset.record_types
    assert tables.filter(kind="view")["name"].to_list() == dataset.views()
