"""``harvest watch``."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated

import typer

from harvest.cli.options import (
    Deleted,
    EngineName,
    KeepRuns,
    MaxRejects,
    OnError,
    RecipeFile,
    SchemaDrift,
    Settings,
    Sinks,
    Sources,
    Wait,
    Workers,
    recipe_from,
)

__all__ = ["watch"]


def watch(
    recipe: RecipeFile = None,
    source: Sources = None,
    sink: Sinks = None,
    settings: Settings = None,
    every: Annotated[
        float,
        typer.Option(min=0.1, metavar="SECONDS", help="Commit at most once in so long."),
    ] = 30.0,
    settle: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Leave a file alone until it was unchanged for so long."
        ),
    ] = 2.0,
    poll: Annotated[
        bool,
        typer.Option(
            "--poll",
            help="Look for changes once in --every, though the file system would tell of them. "
            "Network file systems are always polled.",
        ),
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Stop after N rounds that committed something."),
    ] = None,
    until_idle: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Stop when nothing changed for so long."),
    ] = None,
    engine: EngineName = None,
    workers: Workers = None,
    on_error: OnError = None,
    max_rejects: MaxRejects = None,
    deleted: Deleted = None,
    keep_runs: KeepRuns = None,
    schema_drift: SchemaDrift = None,
    wait: Wait = 0.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per round that committed.")
    ] = False,
) -> int:
    """Keep harvesting as files arrive; each round is an ordinary run.

    Nothing is committed when nothing changed. Ctrl-C or SIGTERM ends it between rounds, after a
    last one for what has arrived; during a round it interrupts that, which may be done any time.

    Exit codes: 0 done; 1 the last round failed; 2 wrong usage; 3 rejects were committed;
    4 the last round had more rejects than --max-rejects; 130 a round was interrupted.
    """
    from harvest.cli.outcome import result_document
    from harvest.cli.tables import print_json_line
    from harvest.pipeline.runner import RunResult
    from harvest.plugins.registry import manager
    from harvest.toolkit.texts import printable_line
    from harvest.watch import Options, Reporter
    from harvest.watch import watch as keep_watching

    class Lines(Reporter):
        """A line for each round that committed something; remarks on standard error."""

        parts = rows = rejects = 0

        def committed(self, result: RunResult) -> None:
            now = datetime.now().astimezone()
            account = result.account
            parts, rows, rejects = len(result.parts), account.written, account.rejected
            self.parts, self.rows = self.parts + parts, self.rows + rows
            self.rejects += rejects
            if json:
                print_json_line({"time": now.isoformat(), **result_document(result)})
            else:
                dropped = f", {len(result.dropped)} dropped" if result.dropped else ""
                print(f"{now:%Y-%m-%d %H:%M:%S}  {_sum(parts, rows, rejects)}{dropped}")
            sys.stdout.flush()

        def note(self, text: str) -> None:
            print(f"harvest: {printable_line(text)}", file=sys.stderr, flush=True)

        def stopped(self, rounds: int) -> None:
            total = _sum(self.parts, self.rows, self.rejects)
            self.note(f"stopped after {_count(rounds, 'round')}: {total}")

    plugins = manager()
    whole = recipe_from(
        recipe,
        plugins,
        sources=source,
        sinks=sink,
        settings=settings,
        engine=engine,
        workers=workers,
        on_error=on_error,
        max_rejects=max_rejects,
        deleted=deleted,
        keep_runs=keep_runs,
        schema_drift=schema_drift,
    )
    options = Options(
        every_s=every,
        settle_s=settle,
        poll=poll,
        rounds=runs,
        until_idle_s=until_idle,
        wait_s=wait,
    )
    return int(keep_watching(whole, plugins, options, Lines()))


def _sum(parts: int, rows: int, rejects: int) -> str:
    return f"{_count(parts, 'part')}, {_count(rows, 'row')}, {_count(rejects, 'reject')}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
