"""Bugs of views and reports: one line on each, and the test of the kit that finds it."""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import harvest
from harvest.pipeline.session import execute
from harvest.plugins.registry import PluginManager
from harvest.recipes.recipe import Endpoint, Recipe
from harvest_testing import ReportConformance, ViewConformance
from planted.bug import bug

EVENTS = (
    "1714557600000\tinfo\tgood <b>morning</b>\n1714557601000\terror\tit broke\n",
    "1714557600000\tdebug\tdetails\n1714557602000\terror\tand again\n1714557603000\tinfo\tend\n",
)
TASKS = (
    '{"task": 1, "time": "2024-05-01T10:00:00Z", "name": "sort"}\n'
    '{"task": 2, "time": "2024-05-01T10:00:00Z", "name": "sort"}\n'
)


class _Planted:
    """Datasets of the planted sources, opened with the planted views."""

    package: ClassVar[str]

    def dataset(self, directory: Path, inputs: int) -> harvest.Dataset:
        for place in ("events", "tasks"):
            (directory / place).mkdir()
        for number in range(inputs):
            (directory / f"events/{number}.tsv").write_text(EVENTS[number])
        (directory / "tasks/a.jsonl").write_text(TASKS)
        plugins = PluginManager(
            [
                EntryPoint("core", "harvest.builtin.plugin", "harvest"),
                EntryPoint("parquet", "harvest_parquet.plugin", "harvest"),
                EntryPoint("planted-columnar", "planted.columnar:ColumnarSource", "harvest"),
                EntryPoint("planted-tasks", "planted.json_lines:TaskSource", "harvest"),
                EntryPoint("planted", f"{self.package}.views", "harvest"),
            ],
            disabled="",
        )
        out = directory / "out"
        places = {"planted-columnar": "events", "planted-tasks": "tasks"}
        recipe = Recipe(
            sources=tuple(Endpoint(n, str(directory / place)) for n, place in places.items()),
            sinks=(Endpoint("parquet", str(out)),),
            workers=1,
        )
        execute(recipe, plugins)
        return harvest.open(out, plugins=plugins)


class PerFile(_Planted, ViewConformance):
    view = "planted.per_file"
    key = ("origin",)
    adds_up = ("events", "errors")
    examples: ClassVar = {"least": 3}


class Located(_Planted, ViewConformance):
    view = "planted.located"
    row_of = "planted.event"


class Names(_Planted, ViewConformance):
    view = "planted.names"
    key = ("origin",)


class Summary(_Planted, ReportConformance):
    report = "planted.summary"
    totals: ClassVar = {"files": ("events", "errors")}
    sums: ClassVar = {("files", "events"): ("planted.per_file", "events")}
    examples: ClassVar = {"level": "info"}


KITS = {"per_file": PerFile, "located": Located, "names": Names, "summary": Summary}

VIEW_BUGS = (
    bug(
        "rows without a partner are lost",
        "located",
        "test_rows_are_neither_lost_nor_doubled",
        'how="left", maintain_order="left"',
        'how="inner", maintain_order="left"',
    ),
    bug(
        "rows with two partners are doubled",
        "located",
        "test_rows_are_neither_lost_nor_doubled",
        'dataset["planted.task"].group_by("time").agg(task=pl.min("id"))',
        'dataset["planted.task"].select("time", task="id")',
    ),
    bug(
        "a count is cut off",
        "per_file",
        "test_rows_are_neither_lost_nor_doubled",
        '.sort("origin")',
        '.sort("origin").head(1)',
    ),
    bug(
        "a column has no meaning",
        "per_file",
        "test_columns_are_as_declared",
        'first=pl.min("time"))',
        'first=pl.min("time"), last=pl.max("time"))',
    ),
    bug(
        "a declared column is not given",
        "per_file",
        "test_columns_are_as_declared",
        ', first=pl.min("time"))',
        ")",
    ),
    bug(
        "a type depends on the rows",
        "located",
        "test_the_schema_does_not_depend_on_rows",
        'tasks = dataset["planted.task"].group_by("time").agg(task=pl.min("id"))',
        'rows = dataset["planted.task"].group_by("time").agg(task=pl.min("id")).collect()\n'
        '    tasks = pl.LazyFrame(rows.to_dicts() or {"time": [], "task": []})\n'
        '    tasks = tasks.with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))',
    ),
    bug(
        "what is not known is counted as 0",
        "names",
        "test_unknown_is_not_zero",
        'pl.when(named.any()).then(pl.col("name").drop_nulls().n_unique())',
        'pl.col("name").drop_nulls().n_unique()',
    ),
    bug(
        "a rule finds nothing where it does not know",
        "names",
        "test_unknown_is_not_zero",
        'where="names < tasks"',
        'where="coalesce(names, tasks) < tasks"',
    ),
    bug(
        "a rule accuses where it does not know",
        "names",
        "test_unknown_is_not_zero",
        'where="names < tasks"',
        'where="names is null"',
    ),
    bug(
        "a view reads before it is asked",
        "per_file",
        "test_it_is_lazy",
        '    files = (\n        dataset["planted.event"]\n',
        '    files = (\n        dataset["planted.event"].collect().lazy()\n',
    ),
    bug(
        "a view's setting is ignored",
        "per_file",
        "test_settings_have_an_effect",
        ">= int(least)",
        ">= 0",
    ),
    bug(
        "a view's setting is not converted",
        "per_file",
        "test_settings_have_an_effect",
        ">= int(least)",
        ">= least",
    ),
    bug(
        "times are those of the machine's zone",
        "located",
        "test_the_answer_is_always_the_same",
        'pl.col("origin").cast(pl.String)).sort("origin", "position")',
        'pl.col("origin").cast(pl.String), text=pl.col("time").map_elements('
        'lambda t: str(t.astimezone()), pl.String)).sort("origin", "position")',
    ),
    bug(
        "the order of rows is by chance",
        "per_file",
        "test_the_answer_is_always_the_same",
        '.sort("origin")',
        ".select(pl.all().shuffle())",
    ),
)

REPORT_BUGS = (
    bug(
        "a report writes texts as they are",
        "summary",
        "test_texts_are_escaped",
        "    return Report(\n",
        "    class Own(Report):\n        def text(self, width=80):\n"
        "            return ' '.join(texts)\n\n    return Own(\n",
    ),
    bug(
        "a total is not the sum of its table",
        "summary",
        "test_totals_add_up",
        'pl.sum("events"), pl.sum("errors"))',
        'pl.max("events"), pl.sum("errors"))',
    ),
    bug(
        "a table leaves out rows, and its total does, too",
        "summary",
        "test_totals_add_up",
        '"errors").collect()',
        '"errors").head(1).collect()',
    ),
    bug(
        "a report fails for a dataset without rows",
        "summary",
        "test_absent_record_types_are_empty",
        'texts or ["none of this level"]',
        "[texts[0], *texts[1:]]",
    ),
    bug(
        "a report's setting is ignored",
        "summary",
        "test_settings_have_an_effect",
        'pl.col("level") == level',
        'pl.col("level") == "error"',
    ),
    bug(
        "a setting's value ends the report with a traceback",
        "summary",
        "test_settings_have_an_effect",
        '    if level not in ("debug", "info", "error"):\n        raise ValueError',
        '    if level not in ("debug", "info", "error"):\n        raise KeyError',
    ),
    bug(
        "a report is in another order each time",
        "summary",
        "test_the_answer_is_always_the_same",
        '.unique().sort("text").collect()["text"]',
        '.collect()["text"].shuffle()',
    ),
)


def plant(where: str, folder: Path, package: str, changes=()):
    """A kit for views of their own package, whose code has some texts replaced."""
    home = folder / package
    home.mkdir()
    (home / "__init__.py").touch()
    code = Path(__file__).with_name("views.py").read_text()
    for old, new in changes:
        if code.count(old) != 1:
            raise ValueError(f"{old!r} is {code.count(old)} times in views.py")
        code = code.replace(old, new)
    (home / "views.py").write_text(code)
    importlib.invalidate_caches()
    return type(where, (KITS[where],), {"package": package})()
