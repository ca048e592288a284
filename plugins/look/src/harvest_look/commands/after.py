"""The commands that show a dataset, and what plugins offer, as users see them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.commands.options import DatasetPath, Exact, Json, Wait, Wide

from . import completion

__all__ = ["export", "findings", "query", "report", "runs", "show", "show_plugin", "view"]


def show(dataset: DatasetPath, json: Json = False) -> int:
    """Say what a dataset holds, and which views and reports it can serve."""
    from harvest_look.show import show_dataset  # late: help needs none of it

    return show_dataset(dataset, json=json)


def view(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A view; all are listed without.",
            autocompletion=completion.views,
        ),
    ] = None,
    dataset: Annotated[
        Path | None, typer.Argument(metavar="DATASET", help="What a sink wrote.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write .parquet, .jsonl, .csv or .txt (readable text).",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the view. Repeatable.",
            autocompletion=completion.own_settings,
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="Only rows for which this holds: \"state = 'lost' and nbytes > 1e9\".",
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Order of rows, such as 'wasted desc, user'."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Only these columns, in this order.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--rows",
            "--limit",
            min=1,
            metavar="N",
            help="Rows shown or written. [default: 20 of a table, else all]",
        ),
    ] = None,
    exact: Exact = False,
    wide: Wide = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> int:
    """List the views, or show or export one of a dataset.

    A table shows the columns that matter most, as many as fit, and names the others.
    """
    if name is None:
        from harvest.plugins import manager
        from harvest_look.asked import print_declared  # late: help needs none of it

        print_declared("view", list(manager().views.values()), json=json)
        return 0
    from harvest_look.view import Choice, show_view  # late: a list needs no polars

    choice = Choice(where=where, sort=sort, columns=columns, rows=rows)
    return show_view(name, dataset, output, settings, choice, json=json, exact=exact, wide=wide)


def report(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A report; all are listed without.",
            autocompletion=completion.reports,
        ),
    ] = None,
    dataset: Annotated[
        Path | None, typer.Argument(metavar="DATASET", help="What a sink wrote.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|DIR",
            help="Write .html, .csv (the main table), .tex, .json, .txt, .png or .svg; "
            "or all of it to a directory.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the report. Repeatable.",
            autocompletion=completion.own_settings,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="SECTION", help="One table or plot alone, by its name."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """List the reports, or show one over a dataset, or write it to a file or directory."""
    if name is None:
        from harvest.plugins import manager
        from harvest_look.asked import print_declared  # late: help needs none of it

        print_declared("report", list(manager().reports.values()), json=json)
        return 0
    from harvest_look.report import show_report  # late: a list needs no polars

    return show_report(name, dataset, output, settings, only, json=json)


def findings(
    dataset: Annotated[
        Path | None,
        typer.Argument(metavar="DATASET", help="What a sink wrote; without, all rules are listed."),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="NAME",
            help="Ask this rule alone. Repeatable.",
            autocompletion=completion.rules,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A threshold, RULE.NAME=NUMBER, or a setting of the views, such as run=R1. "
            "Repeatable.",
            autocompletion=completion.finding_settings,
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Say what a dataset shows: conclusions of rules, the worst first, each with its evidence.

    Without a dataset, list the rules and their thresholds.
    """
    from harvest_look.findings import list_rules, show_findings  # late: help needs none

    if dataset is None:
        return list_rules(rules, json=json)
    return show_findings(dataset, rules, settings, json=json)


def export(
    dataset: DatasetPath,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Where to: a directory that does not exist yet.")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="NAME",
            help="The exporter, of those that `harvest plugins list --kind exporter` lists; "
            "ro-crate: a research object (RO-Crate 1.1).",
            autocompletion=completion.exporters,
        ),
    ] = "ro-crate",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the exporter. Repeatable.",
            autocompletion=completion.export_settings,
        ),
    ] = None,
    license_: Annotated[
        str | None,
        typer.Option(
            "--license", metavar="ID", help="An SPDX identifier, such as CC-BY-4.0, or a URL."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is called.")] = None,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it is about.")
    ] = None,
    authors: Annotated[
        list[str] | None,
        typer.Option(
            "--author", metavar="NAME[, ORCID]", help="Who made it. Repeatable; the first ran it."
        ),
    ] = None,
    publisher: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The organisation that offers it.")
    ] = None,
) -> int:
    """Write a dataset in a form that others can find, understand and cite.

    Example: harvest export out crate --as ro-crate --license CC-BY-4.0 --author 'Ada Lovelace'
    """
    from harvest_look.export import export_dataset  # late: help needs none of it

    options = {
        "license": license_,
        "title": title,
        "description": description,
        "authors": authors,
        "publisher": publisher,
    }
    return export_dataset(dataset, target, form, settings, options)


def query(
    dataset: DatasetPath,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="SQL, or - to read it.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write .csv, .parquet or .jsonl."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="VIEW.KEY=VALUE",
            help="A setting of a view that the query names. Repeatable.",
            autocompletion=completion.query_settings,
        ),
    ] = None,
    exact: Exact = False,
    wide: Wide = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> int:
    """Run SQL over a dataset.

    Record types and views are tables; 'show tables' lists them. Several queries, divided by
    semicolons, are run in order. Example:
    harvest query out 'select prefix, count(*) from dask.tasks group by all'
    """
    from harvest_look.query import print_query  # late: help needs none of it

    return print_query(dataset, sql, output, settings, json=json, exact=exact, wide=wide)


def runs(
    dataset: DatasetPath,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Show all that is known of this run.")
    ] = None,
    keep_runs: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Keep N states before the present one from now on; remove older ones at once.",
        ),
    ] = None,
    wait: Wait = 0.0,
    json: Json = False,
) -> int:
    """List the runs that wrote a dataset, and which of their states are kept."""
    from harvest_look.runs import show_runs  # late: help needs none of it

    return show_runs(dataset, run, keep_runs, wait, json=json)


def show_plugin(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A source, sink, engine, view, report, rule or exporter; or a FILE.py with some.",
            autocompletion=completion.with_settings,
        ),
    ],
    json: Json = False,
) -> int:
    """Show the settings of a source, sink, engine, view or report, or the thresholds of a rule.

    Each with the values that it may have, its default and its meaning; of a source also the record
    types that it yields.
    """
    from harvest_look.plugins import print_plugin  # late: help needs none of it

    return print_plugin(name, json=json)
