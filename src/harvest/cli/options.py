"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from . import complete

__all__ = [
    "DatasetPath",
    "Deleted",
    "EngineName",
    "Json",
    "KeepRuns",
    "MaxRejects",
    "OnError",
    "RecipeFile",
    "RunOptions",
    "SchemaDrift",
    "Settings",
    "Sinks",
    "Sources",
    "Wait",
    "Workers",
]

DatasetPath = Annotated[Path, typer.Argument(metavar="DATASET", help="What a sink wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
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


class RunOptions(NamedTuple):
    """A recipe file and what the command line says on top of it."""

    file: Path | None
    sources: list[str] | None
    sinks: list[str] | None
    settings: list[str] | None
    engine: str | None
    workers: int | None
    on_error: str | None
    max_rejects: int | None
    deleted: str | None
    keep_runs: int | None
    schema_drift: str | None
    limit: int | None = None
    wait_s: float = 0.0

    def keys(self) -> dict[str, Any]:
        """The options that are keys of a recipe, with None where one was not given."""
        given = self._asdict()
        for name in ("file", "sources", "sinks", "settings", "wait_s"):
            del given[name]
        return given
