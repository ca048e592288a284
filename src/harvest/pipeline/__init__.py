"""Running a harvest: plan, read and stage, commit, account.

``harvest.run`` is this package and, called, the function :func:`run`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvest.plugins.registry import PluginManager

    from .runner import Observer, RunResult

__all__ = ["RunResult", "run"]


def run(
    sources: str | Iterable[str] = (),
    sinks: str | Iterable[str] = (),
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
    force: bool = False,
    dry_run: bool = False,
    wait_s: float = 0,
    observer: Observer | None = None,
    plugins: PluginManager | None = None,
) -> RunResult:
    """Harvest sources into sinks, as ``harvest run`` does.

    sources, sinks: one or several ``NAME:LOCATION``; a bare location is read by every
        source that is sure of it, and ``choices`` of the result says by which.
    recipe: path of a TOML recipe, or a Recipe; the other arguments go on top of it.
    settings: plugin name -> key -> value.
    schema_drift: evolve, freeze or reject, where columns are not those of a dataset.

    >>> result = harvest.run("mofka-dask:runs/R1", "parquet:out")  # doctest: +SKIP
    >>> result.account.written  # doctest: +SKIP
    1822

    Raises HarvestError (UsageError, SourceError, TooManyRejects, ...) when the run is stopped;
    then no dataset has changed.
    """
    from pathlib import Path

    from harvest.plugins.registry import manager, split_location

    from .recipe import Endpoint, Recipe, load_recipe
    from .runner import execute

    plugins = plugins or manager()
    base = recipe if isinstance(recipe, Recipe) else Recipe()
    if recipe is not None and not isinstance(recipe, Recipe):
        base = load_recipe(Path(recipe))

    def endpoints(texts: str | Iterable[str], known: Iterable[str]) -> tuple[Endpoint, ...]:
        listed = [texts] if isinstance(texts, str) else texts
        return tuple(Endpoint(*split_location(str(text), known)) for text in listed)

    return execute(
        base.merged(
            sources=endpoints(sources, plugins.sources),
            sinks=endpoints(sinks, plugins.sinks),
            settings=settings,
            engine=engine,
            workers=workers,
            on_error=on_error,
            max_rejects=max_rejects,
            limit=limit,
            deleted=deleted,
            keep_runs=keep_runs,
            schema_drift=schema_drift,
        ),
        plugins,
        force=force,
        dry_run=dry_run,
        wait_s=wait_s,
        observer=observer,
    )


def __getattr__(name: str) -> Any:
    if name == "RunResult":
        from .runner import RunResult

        return RunResult
    raise AttributeError(f"module 'harvest.run' has no attribute {name!r}")


class _CallablePackage(ModuleType):
    """Importing ``harvest.pipeline.plan`` binds ``harvest.run`` to this package; calls still work."""

    def __call__(self, *args: Any, **kwargs: Any) -> RunResult:
        return run(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
