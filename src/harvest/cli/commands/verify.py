"""``harvest verify`` and ``harvest rejects``: is it whole, and what was not read?"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harvest.dataset.repair import Repair

__all__ = ["DatasetArgument", "JsonOption", "SetOption", "WaitOption", "rejects", "verify"]

DatasetArgument = Annotated[Path, typer.Argument(metavar="DATASET", help="What a sink wrote.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WaitOption = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="Wait for another run on the dataset to end."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--set",
        metavar="NAME.KEY=VALUE",
        help="A setting for reading again, on top of those of the first time. Repeatable.",
    ),
]


def verify(
    dataset: DatasetArgument,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Restore a damaged manifest; read damaged parts again."),
    ] = False,
    deleted: Annotated[
        str,
        typer.Option(
            metavar="POLICY",
            help="With --repair, damaged rows whose input is gone: keep (as they are) or drop.",
        ),
    ] = "keep",
    settings: SetOption = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
) -> int:
    """Check a dataset: checksums, row counts, schemas, kept states, files that do not belong.

    Ends with 1 when there is a problem, or one is left after --repair.
    """
    from harvest.cli.settings import refuse_without
    from harvest.cli.tables import print_json
    from harvest.dataset import open as open_dataset
    from harvest.dataset.repair import problem_of_manifest

    if repair:
        return _repair(dataset, deleted, settings, wait, json=json)
    refuse_without("--repair", {"--set": settings, "--wait": wait, "--deleted": deleted != "keep"})
    problem = problem_of_manifest(dataset)
    problems = [problem] if problem else open_dataset(dataset).verify()
    if json:
        print_json({"dataset": str(dataset), "problems": problems})
        return 1 if problems else 0
    _print_lines(problems)
    if problems:
        print(f"{_problems(len(problems))}; harvest verify --repair mends what can be mended")
        return 1
    _print_all_well(dataset)
    return 0


def _repair(
    dataset: Path, deleted: str, settings: list[str] | None, wait: float, *, json: bool
) -> int:
    from harvest.cli.settings import plugin_settings
    from harvest.cli.tables import print_json
    from harvest.dataset.repair import repair
    from harvest.errors import ConfigError
    from harvest.pipeline.recipe import DELETED

    if deleted not in DELETED:
        raise ConfigError(f"deleted {deleted!r} is unknown", remedy="use keep or drop")
    done = repair(dataset, settings=plugin_settings(settings), deleted=deleted, wait_s=wait)
    if json:
        print_json(
            {
                "dataset": str(dataset),
                "found": done.found,
                "manifest_restored": done.restored,
                "read_again": [part.origin for part in done.result.parts] if done.result else [],
                "gone": [{"origin": origin, "reason": reason} for origin, reason in done.gone],
                "problems": done.left,
            }
        )
    else:
        _print_repair(dataset, done, deleted)
    return 1 if done.left else 0


def _print_repair(dataset: Path, done: Repair, deleted: str) -> None:
    if not done.found:
        _print_all_well(dataset)
        return
    print("found")
    _print_lines(f"  {problem}" for problem in done.found)
    if done.restored:
        print("the manifest was restored from its copy")
    if done.result is not None:
        count = len(done.result.parts)
        print(f"{count} partition{'s' * (count != 1)} read again, as run {done.result.run}")
    for origin, reason in done.gone:
        what = "its rows were dropped" if deleted == "drop" else "--deleted drop takes its rows out"
        _print_lines([f"{origin} cannot be read again: {reason}; {what}"])
    if done.left:
        print(f"{_problems(len(done.left))} left")
        _print_lines(f"  {problem}" for problem in done.left)
    else:
        _print_all_well(dataset)


def _problems(count: int) -> str:
    return f"{count} problem{'s' * (count != 1)}"


def _print_lines(lines: Any) -> None:
    from harvest.toolkit.texts import printable_line

    for line in lines:
        print(printable_line(line))


def _print_all_well(dataset: Path) -> None:
    from harvest.dataset import open as open_dataset

    opened = open_dataset(dataset)
    files = len({(f.path, f.offset) for part in opened.manifest for f in part.files})
    rows = sum(opened.record_types.values())
    print(f"all well: {files:,} files, {rows:,} rows")


def rejects(
    dataset: DatasetArgument,
    rows: Annotated[int, typer.Option("-n", "--rows", min=1, help="Rejects shown.")] = 20,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Read inputs with rejects again, after a fix."),
    ] = False,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only rejects of this source.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only rejects whose reason holds this.")
    ] = None,
    settings: SetOption = None,
    wait: WaitOption = 0.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print all, one JSON object per line.")
    ] = False,
) -> int:
    """Show the input units that could not be read, and why; or try to read them again.

    With --replay the partitions that have rejects are read again as a whole, and committed; ends
    with 3 when rejects remain.
    """
    import sys

    import orjson

    from harvest.cli.records import how_many
    from harvest.cli.settings import refuse_without
    from harvest.cli.tables import harmless, print_table
    from harvest.dataset import open as open_dataset

    opened = open_dataset(dataset)
    if replay:
        return _replay(opened, source, reason, settings, wait, json=json)
    refuse_without("--replay", {"--set": settings, "--wait": wait})
    found = (
        row
        for row in opened.rejects()
        if source in (None, row["source"]) and (reason is None or reason in row["reason"])
    )
    if json:
        for row in found:
            row["raw"] = row["raw"].decode("utf-8", "backslashreplace")
            sys.stdout.write(harmless(orjson.dumps(row)) + "\n")
        return 0
    shown = list(itertools.islice(found, rows))
    total = len(shown) + sum(1 for _ in found)
    if not total:
        print("no rejects")
        return 0
    print_table(
        ("origin", "position", "reason", "raw"),
        [
            (
                r["origin"],
                r["position"],
                r["reason"],
                r["raw"][:60].decode("utf-8", "backslashreplace"),
            )
            for r in shown
        ],
        right=("position",),
    )
    if total > rows:
        print(f"{how_many(rows, 'reject', total)} shown; --rows N or --json for more")
    return 0


def _replay(
    opened: Any,
    source: str | None,
    reason: str | None,
    settings: list[str] | None,
    wait: float,
    *,
    json: bool,
) -> int:
    from harvest.cli.settings import plugin_settings
    from harvest.cli.tables import print_json
    from harvest.dataset import open as open_dataset
    from harvest.dataset.repair import replay

    before = sum(part.rejected for part in opened.manifest)
    done = replay(
        opened, source=source, reason=reason, settings=plugin_settings(settings), wait_s=wait
    )
    left = sum(part.rejected for part in open_dataset(opened.sink.location).manifest)
    read = done.result.parts if done.result else ()
    if json:
        gone = [{"origin": part.origin, "reason": why} for part, why in done.gone]
        run = done.result.run if done.result else None
        answer = {"run": run, "read_again": [part.origin for part in read], "gone": gone}
        print_json({**answer, "rejects_before": before, "rejects": left})
    else:
        print(f"{len(read)} partition{'s' * (len(read) != 1)} read again")
        _print_lines(f"{part.origin} cannot be read again: {why}" for part, why in done.gone)
        print(f"{before:,} reject{'s' * (before != 1)} before, {left:,} now")
    return 3 if left else 0
