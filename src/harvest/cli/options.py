"""The options that commands share which make runs, and the recipe that they add up to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import complete

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harvest.pipeline.recipe import Recipe
    from harvest.plugins.registry import PluginManager

__all__ = [
    "Deleted",
    "EngineName",
    "KeepRuns",
    "MaxRejects",
    "OnError",
    "RecipeFile",
    "SchemaDrift",
    "Settings",
    "Sinks",
    "Sources",
    "Wait",
    "Workers",
    "recipe_from",
]

RecipeFile = Annotated[
    Path | None,
    typer.Argument(metavar="RECIPE.toml", help="Recipe; options go on top of it."),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--source",
        metavar="NAME:LOCATION",
        help="What to read; without NAME, by all sources that are sure. Repeatable.",
        autocompletion=complete.sources,
    ),
]
Sinks = Annotated[
    list[str] | None,
    typer.Option(
        "-k",
        "--sink",
        metavar="NAME:LOCATION",
        help="Where to. Repeatable.",
        autocompletion=complete.sinks,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("-o", "--set", metavar="NAME.KEY=VALUE", help="A plugin's setting. Repeatable."),
]
EngineName = Annotated[
    str | None, typer.Option(help="Where partitions run: local, ...", metavar="NAME")
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Worker processes. [default: as many as pay]")
]
OnError = Annotated[
    str | None,
    typer.Option(help="An unreadable input unit: reject (keep and go on) or fail."),
]
MaxRejects = Annotated[
    int | None, typer.Option(min=0, help="Commit nothing when there are more rejects.")
]
Deleted = Annotated[
    str | None,
    typer.Option(
        help="Rows whose input is no longer there: keep (the default) or drop.",
        metavar="POLICY",
    ),
]
KeepRuns = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Earlier states that the dataset keeps from now on, for `harvest rollback`. "
        "[default: as before, at first 1]",
    ),
]
SchemaDrift = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY",
        help="Columns that are not those of the dataset: evolve (the default: add and widen), "
        "freeze (what is new goes to 'extra') or reject (refuse the run).",
    ),
]
Wait = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="Wait for another run on the dataset to end."),
]


def recipe_from(
    file: Path | None,
    plugins: PluginManager,
    *,
    sources: Iterable[str] | None,
    sinks: Iterable[str] | None,
    settings: Iterable[str] | None,
    **options: Any,
) -> Recipe:
    """A recipe file, or an empty one, with the options on top.

    Raises UsageError for options that are none.
    """
    from harvest.pipeline.recipe import Endpoint, Recipe, load_recipe
    from harvest.plugins.registry import split_location

    from .settings import plugin_settings

    base = load_recipe(file) if file is not None else Recipe()
    return base.merged(
        sources=tuple(Endpoint(*split_location(s, plugins.sources)) for s in sources or ()),
        sinks=tuple(Endpoint(*split_location(k, plugins.sinks)) for k in sinks or ()),
        settings=plugin_settings(settings),
        **options,
    )
