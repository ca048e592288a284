"""Commands that show, export and restore whole datasets, and show plugins."""

from typing import Annotated, Any

import harvest
from harvest import UsageError
from harvest.commands import options
from harvest.commands.options import DatasetPath, Json, SettingsAgain, Wait, key_values
from harvest.plugins import manager
from harvest.toolkit.completion import argument, option

from . import completion
from .completion import Text, Texts, rows_option


def show(dataset: DatasetPath, json: Json = False) -> int:
    """Show what a dataset holds: rows, views and reports."""
    from harvest_look.show import show_dataset  # late: help needs none of it

    return show_dataset(dataset, json=json)


def export(
    dataset: DatasetPath,
    target: Annotated[
        str,
        argument("TARGET", "Where to write: a new directory, a file, or the URI of a database."),
    ],
    form: Annotated[
        Text,
        option(
            "--as NAME",
            "The exporter; `harvest plugins list --kind exporter` lists them. [default: by "
            "TARGET (FILE.duckdb, postgresql://HOST/NAME), else ro-crate, a research object]",
            completion.exporters,
        ),
    ] = None,
    settings: Annotated[
        Texts,
        option(
            "--set KEY=VALUE", "A setting of the exporter. Repeatable.", completion.export_settings
        ),
    ] = None,
    license_: Annotated[
        Text, option("--license ID", "The licence: an SPDX identifier such as CC-BY-4.0, or a URL.")
    ] = None,
    title: Annotated[Text, option("--title TEXT", "Title of the dataset.")] = None,
    description: Annotated[
        Text, option("--description TEXT", "Description of the dataset.")
    ] = None,
    authors: Annotated[
        Texts, option("--author NAME[, ORCID]", "An author. The first ran the harvest. Repeatable.")
    ] = None,
    publisher: Annotated[
        Text, option("--publisher TEXT", "The organisation that publishes it.")
    ] = None,
    schema: Annotated[Text, option("--schema NAME", "The database schema to write to.")] = None,
    views: Annotated[
        Texts,
        option(
            "--view NAME[:KEY=VALUE]",
            "A view to export as a table, with settings; or all, or none. Repeatable.",
            completion.views,
        ),
    ] = None,
) -> int:
    """Write a dataset in another form: a research object, a database, a file.

    Example: harvest export out crate --as ro-crate --license CC-BY-4.0 --author 'Ada Lovelace'
    """
    from harvest.commands.asking import answer  # late: help needs none of it
    from harvest.commands.tables import how_many

    form = form or _meant_by(target) or "ro-crate"
    known = manager().exporter(form).settings
    given: dict[str, Any] = dict(key_values(settings))
    for flag, name, value in (
        ("--license", "license", license_),
        ("--title", "title", title),
        ("--description", "description", description),
        ("--author", "authors", authors),
        ("--publisher", "publisher", publisher),
        ("--schema", "schema", schema),
        ("--view", "views", views),
    ):
        if not value:
            continue
        if name in given:
            raise UsageError(
                f"{flag} and --set {name}=... are both given", remedy="give one of them"
            )
        if name not in known:
            raise UsageError(f"--as {form} has no {flag}", remedy="leave it out")
        given[name] = value
    files = answer(dataset, lambda opened: opened.export(form, target, **given))
    print(files.text or f"{how_many(len(files), 'file')} written to {target}")
    return 0


def _meant_by(target: str) -> str | None:
    """Return the exporter whose prefix or suffix a target has, if any."""
    for name, spec in manager().exporters.items():
        for text in spec.targets:
            if target.startswith(text) if text.endswith("://") else target.endswith(text):
                return name
    return None


def runs(
    dataset: DatasetPath,
    run: Annotated[Text, argument("RUN", "Show the full record of this run.")] = None,
    keep_runs: Annotated[
        int | None,
        option(
            "--keep-runs N",
            "Keep N earlier states from now on. Older ones are removed immediately.",
            min=0,
        ),
    ] = None,
    wait: Wait = 0.0,
    json: Json = False,
) -> int:
    """List the runs that wrote a dataset, and the states kept for rollback."""
    from harvest_look.show import print_run, print_runs  # late: help needs none of it

    if keep_runs is not None:
        harvest.open(dataset).keep_runs(keep_runs, wait_s=wait)
    opened = harvest.open(dataset)
    records = opened.runs()
    if run is not None:
        print_run(records, run, where=str(dataset), json=json)
    else:
        print_runs(records, opened.kept_bytes, json=json)
    return 0


def available(json: Json = False) -> int:
    """List the plugins that the project publishes, and which are installed."""
    from harvest_look.plugins import print_available  # late: help needs none of it

    return print_available(json=json)


def show_plugin(
    name: Annotated[
        str,
        argument(
            "NAME",
            "A source, sink, engine, view, report, rule or exporter, or a FILE.py with some.",
            completion.with_settings,
        ),
    ],
    json: Json = False,
) -> int:
    """Show the settings of a source, view or other offer, or the thresholds of a rule.

    Each has its allowed values, default and meaning. For a source it lists the record types, too.
    """
    from harvest_look.plugins import print_plugin  # late: help needs none of it

    return print_plugin(name, json=json)


def rollback(
    dataset: DatasetPath,
    run: Annotated[str, argument("RUN", "The run whose result to restore.")],
    wait: Wait = 0.0,
) -> int:
    """Restore a dataset to the state that an earlier run left.

    This is recorded as a run, and you can roll it back, too. The next `harvest run` reads again
    all inputs that changed since that state.
    """
    made = harvest.open(dataset).rollback(run, wait_s=wait)
    if made is None:
        print(f"the dataset is already in the state of run {run}")
        return 0
    rows = sum(harvest.open(dataset).record_types.values())
    print(f"restored the state of run {run}: {rows:,} rows; recorded as run {made}")
    return 0


def rejects(
    dataset: DatasetPath,
    rows: Annotated[int, rows_option("-n --rows N", "Number of rejects to show.")] = 20,
    replay: Annotated[bool, option("--replay", "Read the inputs with rejects again.")] = False,
    source: Annotated[Text, option("--source NAME", "Only rejects of this source.")] = None,
    reason: Annotated[
        Text, option("--reason TEXT", "Only rejects whose reason contains this.")
    ] = None,
    settings: SettingsAgain = None,
    wait: Wait = 0.0,
    json: Annotated[bool, option("--json", "Print all rejects, one JSON object per line.")] = False,
) -> int:
    """Show input that could not be read, and why; or read it again.

    --replay reads each input with rejects again as a whole, and commits the result. Exit code 3:
    some rejects remain.
    """
    from harvest_look.show import print_rejects, print_replay  # late: help needs none of it

    if not replay:
        options.refuse_without("--replay", {"--set": settings, "--wait": wait})
        return print_rejects(dataset, rows, source, reason, json=json)
    given = options.plugin_settings(settings)
    opened = harvest.open(dataset)
    done = opened.replay(source=source, reason=reason, settings=given, wait_s=wait)
    return print_replay(done, json=json)
