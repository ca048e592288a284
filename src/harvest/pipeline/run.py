"""``harvest.run``: a harvest in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.plugins.registry import PluginManager, manager
from harvest.recipes.endpoints import endpoints_of
from harvest.recipes.recipe import Recipe, load_recipe

from .prepare import Observer
from .progress import display
from .result import RunResult
from .session import execute


def run(
    sources: str | Source | Iterable[str | Source] = (),
    sinks: str | Sink | Iterable[str | Sink] = (),
    *,
    recipe: Any = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    engine: str | None = None,
    workers: int | None = None,
    on_error: str | None = None,
    max_rejects: int | None = None,
    limit: int | None = None,
    deleted: str | None = None,
    keep_runs: int | None = None,
    schema_drift: str | None = None,
    since: str | None = None,
    changed: str | None = None,
    force: bool = False,
    dry_run: bool = False,
    wait_s: float = 0,
    progress: bool | None = None,
    observer: Observer | None = None,
    plugins: PluginManager | None = None,
) -> RunResult:
    """Harvest sources into sinks, as ``harvest run`` does.

    sources, sinks: one or several ``NAME:LOCATION``; a bare location is read by every
        source that is sure of files there, and ``choices`` of the result says by which.
        ``FILE.py:LOCATION`` is the source or sink of a Python file, and an object of a class of
        yours is as good: ``GreetingSource("hello.txt")``.
    recipe: path of a TOML recipe, or a Recipe; the other arguments go on top of it.
    settings: plugin name -> key -> value.
    since, changed: look at some inputs only: those of late days, or those that a list names.
    schema_drift: evolve, freeze or reject, where columns are not those of a dataset.
    progress: show how far it is: a bar on a terminal or in a notebook, else a line of standard
        error now and then; None where a person watches alone, which is a terminal or a notebook.
    observer: is called instead, to show or record progress in a way of one's own.

    >>> result = harvest.run("mofka-dask:runs/R1", "parquet:out")  # doctest: +SKIP
    >>> result.account.written  # doctest: +SKIP
    1822

    Raises HarvestError (UsageError, SourceError, TooManyRejects, ...) when the run is stopped;
    then no dataset has changed.
    """
    plugins = plugins or manager()
    base = recipe if isinstance(recipe, Recipe) else Recipe()
    if recipe is not None and not isinstance(recipe, Recipe):
        base = load_recipe(Path(recipe))

    merged = base.merged(
        sources=endpoints_of(sources, "source", plugins),
        sinks=endpoints_of(sinks, "sink", plugins),
        settings=settings,
        engine=engine,
        workers=workers,
        on_error=on_error,
        max_rejects=max_rejects,
        limit=limit,
        deleted=deleted,
        keep_runs=keep_runs,
        schema_drift=schema_drift,
        since=since,
        changed=changed,
    )
    with display(progress if observer is None else False) as shown:
        return execute(
            merged,
            plugins,
            force=force,
            dry_run=dry_run,
            wait_s=wait_s,
            observer=observer or shown,
        )
