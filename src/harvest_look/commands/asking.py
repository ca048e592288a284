"""Commands that query a dataset: its views, reports, findings, and SQL."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from harvest import UsageError
from harvest.commands import remark
from harvest.commands.options import DatasetPath, Exact, Json, Wide, key_values
from harvest.plugins import manager
from harvest.toolkit.completion import argument, option
from harvest.toolkit.texts import shell_word

from . import completion
from .completion import JsonRows, Text, Texts, rows_option

if TYPE_CHECKING:
    from harvest import Dataset, View

AskedDataset = Annotated[
    Path | None, argument("DATASET", "The path that a sink wrote to.", readable=False)
]


def view(
    name: Annotated[
        Text, argument("NAME", "A view. Without it, all are listed.", completion.views)
    ] = None,
    dataset: AskedDataset = None,
    output: Annotated[
        Path | None,
        option("-o --output FILE", "Write .parquet, .jsonl, .csv or .txt (readable text)."),
    ] = None,
    settings: Annotated[
        Texts,
        option("--set KEY=VALUE", "A setting of the view. Repeatable.", completion.own_settings),
    ] = None,
    where: Annotated[
        Text,
        option(
            "--where SQL",
            "Only rows that match, for example \"state = 'lost' and nbytes > 1e9\", "
            "\"start_time < '2025-01-31'\", \"start_time > now() - interval '7 days'\".",
        ),
    ] = None,
    sort: Annotated[
        Text, option("--sort COLUMNS", "Order of rows, for example 'wasted desc, user'.")
    ] = None,
    columns: Annotated[
        Text, option("--columns COLUMNS", "Only these columns, in this order.")
    ] = None,
    rows: Annotated[
        int | None,
        rows_option(
            "-n --rows --limit N", "Number of rows. [default: 20 on screen, all otherwise]"
        ),
    ] = None,
    exact: Exact = False,
    wide: Wide = False,
    json: JsonRows = False,
) -> int:
    """List the views, or show or export one.

    The table shows the most important columns that fit, and names the others.
    """
    if name is None:
        return _list("view", json=json)
    from harvest_look import tools  # late: a list needs no polars

    spec, dataset = tools.named("view", name, dataset)
    _require_one(output, json=json)
    choice = tools.Choice(where=where, sort=sort, columns=columns, rows=rows)
    given = key_values(settings)

    def ask(opened: Dataset) -> tuple[Any, int, list[str]]:
        """Return the rows to print, their number, and remarks when there are none."""
        asked = opened.view(name, **given)
        chosen = choice.of(asked)
        if output is not None:
            first, total = None, tools.export(choice.cut(chosen), output, text=_text(spec))
        elif json:
            first = choice.cut(chosen).collect()
            total = first.height
        else:
            first, total = choice.first(chosen)
        return first, total, [] if total else choice.remarks(asked)

    with tools.refused_values(where):
        first, total, remarks = tools.answer(dataset, ask, f"building {name}", spec.requires)
    for each in remarks:
        remark(f"no row of {name} fits {where}: {each}")
    if output is not None:
        print(f"{tools.how_many(total, 'row')} of {name} written to {output}")
    elif json:
        tools.print_rows_as_json(name, first)
    else:
        rest = "--wide shows all, --columns NAME,NAME some, -o FILE.csv writes all"
        style = tools.Style(exact=exact, wide=wide, every=columns is not None, rest=rest)
        tools.print_records(name, first, choice.meanings(spec, first), style, total=total)
    return 0


def report(
    name: Annotated[
        Text, argument("NAME", "A report. Without it, all are listed.", completion.reports)
    ] = None,
    dataset: AskedDataset = None,
    output: Annotated[
        Text,
        option(
            "-o --output FILE|DIR",
            "Write .html, .csv (the main table), .tex, .json, .txt, .png or .svg, or all "
            "of these to a directory.",
        ),
    ] = None,
    settings: Annotated[
        Texts,
        option("--set KEY=VALUE", "A setting of the report. Repeatable.", completion.own_settings),
    ] = None,
    only: Annotated[Text, option("--only SECTION", "Only this table or plot, by name.")] = None,
    json: Annotated[bool, option("--json", "Print the report as JSON.")] = False,
) -> int:
    """List the reports, or show or write one."""
    if name is None:
        return _list("report", json=json)
    from harvest_look import tools  # late: a list needs no polars
    from harvest_report import Report, terminal

    spec, dataset = tools.named("report", name, dataset)
    given = key_values(settings)
    console = tools.Console(highlight=False)

    def ask(opened: Dataset) -> tuple[list[Path], Any]:
        """Return the files written, and the output, complete in case of a concurrent commit."""
        made = opened.report(name, **given)
        if only is not None:
            made = made.only(only)
        written = [] if output is None else made.write(output)
        if json:
            return written, made.to_dict()
        if output is not None:
            return written, None
        if console.is_terminal and isinstance(made, Report):
            return written, made.whole()
        return written, made.text(console.width)

    written, shown = tools.answer(dataset, ask, f"building {name}", spec.requires)
    for path in written:
        print(f"{name} written to {path}")
    if json:
        tools.print_json(shown)
    elif isinstance(shown, str):
        sys.stdout.write(shown)
    elif shown is not None:
        terminal.show(shown, console)
    return 0


def findings(
    dataset: Annotated[
        Path | None,
        argument(
            "DATASET",
            "The path that a sink wrote to. Without it, all rules are listed.",
            readable=False,
        ),
    ] = None,
    rules: Annotated[
        Texts, option("--rule NAME", "Check only this rule. Repeatable.", completion.rules)
    ] = None,
    settings: Annotated[
        Texts,
        option(
            "--set KEY=VALUE",
            "A threshold (RULE.NAME=NUMBER) or a setting of views (run=R1). Repeatable.",
            completion.finding_settings,
        ),
    ] = None,
    show: Annotated[
        Text,
        option(
            "--show N|RULE|gaps",
            "Show a finding in full, with its evidence; gaps: the checks that lack data.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """List what rules find in a dataset, the worst first, with what to do next.

    Without a dataset, list the rules and their thresholds.
    """
    if dataset is None:
        from harvest_look.asked import print_rules  # late: help needs none of it

        print_rules([manager().rule(name) for name in rules or manager().rules], json=json)
        return 0
    from harvest_look import tools  # late: a list needs no polars
    from harvest_report import terminal

    given = key_values(settings)
    of_views = {key: value for key, value in given.items() if "." not in key}
    thresholds = _by_name({key: value for key, value in given.items() if "." in key})
    verdict = tools.answer(
        dataset,
        lambda opened: opened.findings(rules, thresholds=thresholds, **of_views),
        "looking for findings",
    )
    console = tools.Console(highlight=False)
    if json:
        tools.print_json(verdict.to_dict())
    elif show is None:
        options = [f"--rule={name}" for name in rules or ()]
        options += [f"--set={each}" for each in settings or ()]
        asked = shlex.join(["harvest", "findings", str(dataset), *options])
        terminal.show_verdict(verdict, console, asked)
    elif show == "gaps":
        terminal.show_gaps(verdict, console)
    else:
        shown = [
            (number, found)
            for number, found in enumerate(verdict.found, start=1)
            if show in (str(number), found.rule.name)
        ]
        if not shown:
            remedy = "list them without --show; then give a number, the name of a rule, or gaps"
            raise UsageError(f"no finding {show!r} among {len(verdict.found)}", remedy=remedy)
        for number, found in shown:
            terminal.show_finding(number, found, console, str(dataset))
    return 0


def query(
    dataset: DatasetPath,
    sql: Annotated[str, argument("SQL", "SQL, or - to read it from standard input.")],
    output: Annotated[
        Path | None, option("-o --output FILE", "Write .csv, .parquet or .jsonl.")
    ] = None,
    settings: Annotated[
        Texts,
        option(
            "--set VIEW.KEY=VALUE",
            "A setting of a view in the query. Repeatable.",
            completion.query_settings,
        ),
    ] = None,
    exact: Exact = False,
    wide: Wide = False,
    json: JsonRows = False,
) -> int:
    """Run SQL over a dataset.

    Record types and views are tables; 'show tables' lists them. Several queries, separated by
    semicolons, run in order. Example:
    harvest query out 'select prefix, count(*) from dask.tasks group by all'
    """
    from harvest_look import tools  # late: help needs none of it

    _require_one(output, json=json)
    if os.path.lexists(sql) and not os.path.lexists(dataset):
        remedy = f"write: harvest query {shell_word(sql)} SQL"
        raise UsageError("the dataset comes before the query", remedy=remedy)
    text = sys.stdin.read() if sql == "-" else sql
    of_views = _by_name(key_values(settings))

    def ask(opened: Dataset) -> tuple[list[Any], list[str]]:
        return opened.sql_all(text, settings=of_views), [*tools.remarks(opened, text)]

    frames, said = tools.answer(dataset, ask, "querying")
    for each in said:
        remark(each)
    if output is not None:
        if len(frames) > 1:
            raise UsageError(
                f"{len(frames)} queries for one output file", remedy="run a command for each query"
            )
        rows = tools.export(frames[0].lazy(), output)
        print(f"{tools.how_many(rows, 'row')} written to {output}")
        return 0
    style = tools.Style(exact=exact, wide=wide, rest="--wide shows all, -o FILE.csv writes all")
    for number, frame in enumerate(frames, start=1):
        title = f"result {number}" if len(frames) > 1 else "result"
        if json:
            tools.print_rows_as_json(title, frame)
        else:
            tools.print_records(title, frame, style=style)
    return 0


def _list(kind: str, *, json: bool) -> int:
    from harvest_look.asked import print_declared  # late: help needs none of it

    print_declared(kind, list(getattr(manager(), f"{kind}s").values()), json=json)
    return 0


def _require_one(output: Path | None, *, json: bool) -> None:
    if output is not None and json:
        raise UsageError("--json and --output exclude each other", remedy="give one of them")


def _by_name(settings: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Group settings ``NAME.KEY`` by name, then by key."""
    found: dict[str, dict[str, Any]] = {}
    for whole, value in settings.items():
        name, _, key = whole.rpartition(".")
        found.setdefault(name, {})[key] = value
    return found


def _text(spec: View) -> Callable[[Any], Iterable[str]] | None:
    """Return the view's function that renders rows as texts, if it declares one."""
    if spec.text is None:
        return None
    return lambda frame: manager().load_part(spec, spec.text, f"the text of {spec.name!r}")(frame)
