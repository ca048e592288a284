"""The commands ``harvest gpfs ...``."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

import harvest_gpfs
from harvest import UsageError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.completion import argument, group, option, words
from harvest.toolkit.texts import printable_line
from harvest_cluster.batch import Batch, Job, python

from .submitting import Submission, batches_of, submittable

app = group("GPFS policy lists: split, convert, aggregate, churn, status.")
_SAME = "auto, memory, streaming, gpu or dask; the result is the same."
_OUTPUT = "--output --to -t"
SettingsOption = Annotated[
    list[str] | None, option("--set KEY=VALUE", "A setting of the source gpfs. Repeatable.")
]
RootOption = Annotated[
    str | None,
    option("DIR", "Directory above the top-level directories. [default: the deepest of all paths]"),
]
LayoutOption = Annotated[
    str,
    option(
        "flat|hive", "flat: a dataset; hive: sorted files in top=/date=.", words("flat", "hive")
    ),
]
TopDepthOption = Annotated[
    int, option("N", "Depth of top-level directories below the root.", min=1)
]


@app.command("split")
@submittable("per_task")
def split_command(
    path: Annotated[Path, argument("LIST", "The list, plain, .gz or .zst.")],
    directory: Annotated[Path, argument("DIR", "Directory for the parts.")],
    parts: Annotated[int, option("-n --parts N", "Number of parts.", min=1)],
    compress: Annotated[
        str, option("none|gzip|zstd", "Compression of the parts.", words("none", "gzip", "zstd"))
    ] = "none",
    part: Annotated[int | None, option("N", "Make this part only.", min=1, hidden=True)] = None,
    *,
    jobs: Submission,
) -> int:
    """Split a list into parts of whole lines, each a list of its own.

    Call it again after an interruption to make the missing parts. With --submit,
    an array makes the parts, and a last job makes the missing ones.
    """
    from ..splitting import Split  # imported late: help needs no numpy

    if not jobs.wanted:
        only = None if part is None else [part]
        harvest_gpfs.split(path, directory, parts, compress=compress, only=only, on_part=_echo)
        return 0
    plan = Split.of(path, directory, parts, compress)
    rest = [f"--parts={parts}", f"--compress={compress}", "--", str(plan.path), str(plan.directory)]
    # a compressed list can only be read from its start, so one job splits it
    each = [] if plan.packed else [[f"--part={number}"] for number in range(1, parts + 1)]
    whole, *tasks = [python("harvest", "gpfs", "split", *only, *rest) for only in ([], *each)]
    limit, options = jobs.array_limit, jobs.options
    array = Job(name="split", commands=tasks or [whole], options=options, array_limit=limit)
    last = Job(name="split-last", commands=[whole], options=options, after_any="split")
    if not jobs.dry_run:
        plan.begin()
    return jobs.send("split", directory, array, last)


@app.command("convert")
@submittable()
def convert_command(
    lists: Annotated[list[Path], argument("LIST", "Lists, or directories of them.")],
    target: Annotated[Path, option(f"{_OUTPUT} DIR", "Write the Parquet files to DIR.")],
    layout: LayoutOption = "flat",
    root: RootOption = None,
    top_depth: TopDepthOption = 1,
    settings: SettingsOption = None,
    workers: Annotated[
        int | None, option("N", "Worker processes. [default: by size]", min=1)
    ] = None,
    engine: Annotated[
        str | None,
        option(
            "NAME", "Engine that reads lists: local, dask, slurm.", words("local", "dask", "slurm")
        ),
    ] = None,
    max_rejects: Annotated[
        int | None, option("N", "Convert nothing with more rejects.", min=0)
    ] = None,
    *,
    jobs: Submission,
) -> int:
    """Convert lists to Parquet, on compute nodes with --submit.

    Exit codes as for `harvest run`: 3 when there were rejects.
    """
    options: dict[str, Any] = {
        "layout": layout, "root": root, "top_depth": top_depth, "settings": _key_values(settings),
        "max_rejects": max_rejects,
    }  # fmt: skip
    if not jobs.wanted:
        result = harvest_gpfs.convert(lists, target, engine=engine, workers=workers, **options)
        return _report(result, target)
    if layout == "flat":
        tasks = {} if jobs.per_task is None else {"tasks_per_job": jobs.per_task}
        result = harvest_gpfs.convert(
            lists, target, engine="slurm", engine_settings={**jobs.engine_settings, **tasks},
            workers=jobs.array_limit, dry_run=jobs.dry_run, **options,
        )  # fmt: skip
        for script in result.scripts if jobs.dry_run else ():
            typer.echo(str(script))
        return 0 if jobs.dry_run else _report(result, target)
    rest = [f"--set={text}" for text in settings or ()]
    rest += [f"--workers={jobs.cpus or 1}", "--", *(str(item.absolute()) for item in lists)]
    return _send_alone("convert", target, options | {"settings": None}, rest, jobs)


@app.command("aggregate")
@submittable("array_limit", "per_task")
def aggregate_command(
    inputs: Annotated[
        list[str], argument("INPUT", "Datasets, Parquet files or directories of them.")
    ],
    output: Annotated[Path, option(f"-o {_OUTPUT} FILE", "Write .csv, .parquet or .jsonl.")],
    by: Annotated[str, option("NAMES", "Groupings, as a comma list.")] = "uid",
    metrics: Annotated[str | None, option("NAMES", "Metrics, as a comma list.")] = None,
    backend: Annotated[
        str, option("NAME", _SAME, words("auto", "memory", "streaming", "gpu", "dask"))
    ] = "auto",
    scan: Annotated[str, option("SCAN", "latest, all, a time or the path of a list.")] = "latest",
    now: Annotated[
        str | None, option("TIME", "Time that ages count from. [default: the scan's time]")
    ] = None,
    root: RootOption = None,
    top_depth: TopDepthOption = 1,
    depth: Annotated[int, option("N", "Depth of `directory`.", min=0)] = 2,
    passwd: Annotated[Path | None, option("FILE", "File with the users' names.")] = None,
    group: Annotated[Path | None, option("FILE", "File with the groups' names.")] = None,
    address: Annotated[str | None, option("ADDRESS", "Dask scheduler, for backend dask.")] = None,
    workers: Annotated[
        int | None, option("N", "Dask workers to start without an address.", min=1)
    ] = None,
    *,
    jobs: Submission,
) -> int:
    """Sum up a scan by groups, exactly; hard links count once."""
    given: dict[str, Any] = {
        "by": by, "metrics": metrics, "backend": backend, "scan": scan, "now": now, "root": root,
        "top_depth": top_depth, "depth": depth, "passwd": passwd, "group": group,
        "address": address, "workers": workers,
    }  # fmt: skip
    if not jobs.wanted:
        if metrics is None:
            del given["metrics"]
        result = harvest_gpfs.aggregate(inputs, **given)
        harvest_gpfs.write_result(result, output)
        for name, value in result.facts.items():
            typer.echo(f"{name}: {_line(value)}")
        typer.echo(f"{len(result.frame)} groups written to {_line(output)}")
        return 0
    rest = ["--", *(str(Path(item).absolute()) for item in inputs)]
    return _send_alone("aggregate", output, given, rest, jobs)


@app.command("churn")
@submittable("array_limit", "per_task")
def churn_command(
    old: Annotated[Path, argument("OLD", "Earlier scan: dataset, Parquet, or list.")],
    new: Annotated[Path, argument("NEW", "Later scan.")],
    output: Annotated[Path, option(f"{_OUTPUT} FILE", "Write .csv, .parquet or .jsonl.")],
    old_scan: Annotated[str | None, option("SCAN", "Scan of OLD. [default: its latest]")] = None,
    new_scan: Annotated[str | None, option("SCAN", "Scan of NEW. [default: its latest]")] = None,
    root: RootOption = None,
    top_depth: TopDepthOption = 1,
    settings: SettingsOption = None,
    scratch: Annotated[Path | None, option("DIR", "Directory for converted lists.")] = None,
    *,
    jobs: Submission,
) -> int:
    """Write the changes between two scans by top-level directory.

    For one dataset given twice, its latest two scans are compared.
    """
    given: dict[str, Any] = {
        "old_scan": old_scan, "new_scan": new_scan, "root": root, "top_depth": top_depth,
        "scratch": scratch,
    }  # fmt: skip
    if not jobs.wanted:
        frame = harvest_gpfs.churn(old, new, settings=_key_values(settings), **given)
        harvest_gpfs.write_result(frame, output)
        for before, after in frame.select("old_scan", "new_scan").head(1).rows():
            typer.echo(f"from {_line(before)} to {_line(after)}")
        typer.echo(f"{len(frame)} top-level directories written to {_line(output)}")
        return 0
    rest = [*(f"--set={text}" for text in settings or ()), "--", str(old.absolute())]
    return _send_alone("churn", output, given, [*rest, str(new.absolute())], jobs)


@app.command("status")
def status_command(
    directory: Annotated[Path, argument("DIR", "The directory that --submit writes to.")],
    json: Annotated[bool, option("--json", "Print JSON.")] = False,
) -> int:
    """Show the progress of batch jobs of a directory. Exits with 1 when a job failed."""
    places = batches_of(directory.expanduser().absolute())
    batches = {place.name: Batch.open(place).status() for place in places}
    if json:
        shown = {name: [job.to_dict() for job in jobs] for name, jobs in batches.items()}
        typer.echo(orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode())
    else:
        for name, jobs in batches.items():
            _echo(name)
            for job in jobs:
                counts = ", ".join(
                    f"{count} {state}" for state, count in job.counts.items() if count
                )
                ids = ", ".join(map(str, job.job_ids))
                typer.echo(f"  {_line(job.name)} (Slurm job {ids}): {counts}")
                for failed in job.failed[:10]:
                    reason, log = _line(failed.reason), _line(job.log)
                    typer.echo(f"    command {failed.number}: {reason}; see {log}")
    return 1 if any(job.failed for jobs in batches.values() for job in jobs) else 0


def _send_alone(
    name: str, output: Path, given: dict[str, Any], rest: Iterable[str], jobs: Submission
) -> int:
    """Submit the same command as a job.

    given: options by name; rest: the remaining arguments.
    """
    target = output.expanduser().absolute()
    for key in ("passwd", "group", "scratch"):
        if given.get(key) is not None:
            given[key] = Path(given[key]).absolute()
    spelled = [
        f"--{key.replace('_', '-')}={value}" for key, value in given.items() if value is not None
    ]
    command = python("harvest", "gpfs", name, f"--output={target}", *spelled, *rest)
    return jobs.send(name, target.parent, Job(name=name, commands=[command], options=jobs.options))


def _echo(path: object) -> None:
    typer.echo(_line(path))


def _line(value: object) -> str:
    """Format a name or message as one line without control characters."""
    return printable_line(str(value))


def _key_values(texts: Iterable[str] | None) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(
                f"{text!r} is not a setting", remedy="write --set KEY=VALUE; where to is --output"
            )
        given[key.removeprefix("gpfs.")] = value
    return given


def _report(result: Any, target: Path) -> int:
    for note in result.notes:
        typer.echo(f"note: {_line(note)}")
    rows = count_in_words(result.account.written, "row")
    rejects = count_in_words(result.account.rejected, "reject")
    typer.echo(f"{rows}, {rejects}; {_line(target)}")
    return int(result.exit_code)
