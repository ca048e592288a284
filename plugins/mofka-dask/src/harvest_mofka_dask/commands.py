"""``harvest mofka-dask capture``: compile the tasks of one run from its CSVs.

One call for the usual case, without a dataset: everything is read into memory.  ``trace`` is the
command of ``harvest dask-runs``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harvest import UsageError
from harvest.errors import ExitCode
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.completion import group, option
from harvest.toolkit.texts import printable_line
from harvest_dask_runs.commands import trace

if TYPE_CHECKING:
    from harvest_dask_runs.memory import Harvested

    from .tasks import TaskHandler

ROLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "scheduler": ("-s", ("scheduler_transition.csv",)),
    "workers": ("-w", ("workers.csv", "worker.csv")),
    "transitions": ("-t", ("worker_transition.csv",)),
    "transfers": ("-x", ("worker_transfer.csv",)),
    "graph": ("-g", ()),
}
"""For each file, its option, and the names that the coupler's consumer gives it.

The first that exists is read; a graph is read only if it is named."""
ESSENTIAL = ("scheduler", "transitions")
REJECTS_SHOWN = 5

app = group("Dask runs recorded through Mofka.")


def _csv(role: str, doc: str) -> Any:
    """Declare the option that names the CSV of a role."""
    short, names = ROLES[role]
    usual = ", else ".join(names) or False
    return option(f"{short} --{role} CSV", doc, show_default=usual)


@app.command()
def capture(
    scheduler: Annotated[
        Path | None, _csv("scheduler", "Transitions recorded by the scheduler.")
    ] = None,
    workers: Annotated[Path | None, _csv("workers", "Workers that came and went.")] = None,
    transitions: Annotated[
        Path | None, _csv("transitions", "Transitions recorded by the workers.")
    ] = None,
    transfers: Annotated[
        Path | None, _csv("transfers", "Transfers recorded by the workers.")
    ] = None,
    graph: Annotated[
        Path | None, _csv("graph", "Graphs that clients sent: adds clients and dependencies.")
    ] = None,
    output: Annotated[
        Path,
        option("-o --output FILE", "Write .txt (readable), .jsonl (a task a line) or .parquet."),
    ] = Path("compiled_tasks.txt"),
) -> None:
    """Compile the tasks of one run, each with its events in order of time.

    Reads the CSVs that the Mofka-Dask consumer writes. Each file defaults to
    its usual name in the current directory. The files of workers and transfers
    may be missing unless they are named.

    Exit codes: 0 all was read; 1 a file lacks columns; 2 a file is missing; 3
    some rows could not be read, the output holds all others.
    """
    given = zip(ROLES, (scheduler, workers, transitions, transfers, graph), strict=True)
    if _compile(dict(given), output):
        raise typer.Exit(ExitCode.REJECTS)


app.command()(trace)


def _compile(given: dict[str, Path | None], output: Path) -> int:
    """Write the tasks of the CSVs, print what was read, and return the number of rejects."""
    # late: ``--help`` needs neither polars nor pyarrow
    from harvest_dask_runs.objects.output import check_suffix, write_tasks

    from .tasks import TaskHandler, harvest_files

    check_suffix(output)
    if not output.parent.is_dir():
        raise UsageError("no such directory", where=str(output.parent), remedy="make it first")
    named = {role: _file(role, path) for role, path in given.items()}
    files = {role: path for role, path in named.items() if path is not None}
    options = {path.resolve(): ROLES[role][0] for role, path in given.items() if path}
    for role, path in given.items():
        if path and (other := options[path.resolve()]) != ROLES[role][0]:
            problem = f"given with {ROLES[role][0]} and {other}: its rows would count twice"
            raise UsageError(problem, where=str(path), remedy="name each file once")
    found = harvest_files(files)
    tasks = TaskHandler(found.tasks(), found.rejects)
    account = [*_account(found, tasks), *_rejects(found)]
    names = [printable_line(f"  {path.absolute()}") for path in files.values()]
    write_tasks(tasks, output, "\n".join(["Compiled tasks", *names, *account]) + "\n")
    for line in account:
        typer.echo(line)
    typer.echo(f"written to {printable_line(str(output))}")
    return len(found.rejects)


def _file(role: str, path: Path | None) -> Path | None:
    """Return the file of a role: the named one, which must exist, or the one with a usual name."""
    if path is None:
        return _usual(role)
    if not path.is_file():
        raise UsageError(
            "is a directory" if path.is_dir() else "no such file",
            where=str(path),
            remedy=f"check the path given with {ROLES[role][0]}",
        )
    return path


def _usual(role: str) -> Path | None:
    short, usual = ROLES[role]
    for name in usual:
        if Path(name).is_file():
            return Path(name)
    names = " or ".join(usual)
    if role in ESSENTIAL:
        raise UsageError(
            f"no {names} in the current directory",
            where=str(Path.cwd()),
            remedy=f"name the file with {short}, or go to the run's directory",
        )
    if usual:
        typer.echo(f"no {names} here: continuing without {role}", err=True)
    return None


def _account(found: Harvested, tasks: TaskHandler) -> list[str]:
    """Say what was read, and what is missing."""
    events = int(tasks.frame["events"].list.len().sum() or 0)
    lines = [f"{found.units:,} rows read: {len(tasks):,} tasks with {events:,} events"]
    if found.folded:
        lines.append(f"{found.folded:,} of them repeat a transfer and are merged into it")
    if "dask.worker" in found.reader:
        for row in found.summary().iter_rows(named=True):
            registered, reported = row["workers"] or 0, row["workers_reported"] or 0
            lines.append(f"{registered} workers registered, {reported} reported")
            lines += [f"note: {note}" for note in row["completeness_notes"]]
    lines += [f"note: {note}" for note in found.notes]
    return [printable_line(line) for line in lines]


def _rejects(found: Harvested) -> list[str]:
    if not found.rejects:
        return ["0 rows could not be read"]
    lines = [f"{count_in_words(len(found.rejects), 'row')} could not be read:"]
    for reject in found.rejects[:REJECTS_SHOWN]:
        place = "" if reject.position is None else f", record {reject.position}"
        lines.append(f"  {reject.origin}{place}: {reject.reason}")
    if len(found.rejects) > REJECTS_SHOWN:
        lines.append(f"  and {len(found.rejects) - REJECTS_SHOWN:,} more")
    return [printable_line(line) for line in lines]
