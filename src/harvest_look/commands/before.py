"""Commands that inspect inputs before a run."""

from pathlib import Path
from typing import Annotated

from harvest.commands import complete
from harvest.commands.options import Exact, Json, Settings, Wide
from harvest.toolkit.completion import argument, option, words

from . import completion
from .completion import JsonRows, Text, rows_option


def look(
    path: Annotated[Path, argument("PATH", "A directory, or a file.")],
    run: Annotated[
        Path | None, option("--run OUT", "Harvest all of it into a Parquet dataset at OUT.")
    ] = None,
    json: Json = False,
) -> int:
    """Show what a directory holds, and the command that harvests it.

    It looks at every file below the directory. --run executes the command.
    """
    from harvest_look.tree import look_at  # late: help needs none of it

    return look_at(path, run, json=json)


def detect(
    paths: Annotated[
        list[Path], argument("PATH", "Files, directories or pipes; - is standard input.")
    ],
    json: Json = False,
) -> int:
    """Show which sources can read a path, and how sure each is.

    Exit code 1: no source recognises one of the paths.
    """
    from harvest_look.preview import print_sources  # late: help needs none of it

    return print_sources(paths, json=json)


def preview(
    source: Annotated[
        str,
        option(
            "-s --source NAME:LOCATION",
            "What to read; NAME:- is standard input. NAME may be a FILE.py.",
            complete.sources,
        ),
    ],
    rows: Annotated[int, rows_option("-n --rows --limit N", "Rows per record type.")] = 5,
    settings: Settings = None,
    exact: Exact = False,
    wide: Wide = False,
    json: JsonRows = False,
) -> int:
    """Show the first rows of a source, without writing anything."""
    from harvest_look.preview import print_first_rows  # late: help needs none of it

    return print_first_rows(source, rows, settings, json=json, exact=exact, wide=wide)


def schema(
    name: Annotated[
        Text,
        argument(
            "NAME", "A record type or a view. Without it, all are listed.", completion.schemas
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str,
        option(
            "--format FORM",
            "table, json-schema, arrow or markdown.",
            words("table", "json-schema", "arrow", "markdown"),
        ),
    ] = "table",
    json: Annotated[bool, option("--json", "The same as --format json-schema.")] = False,
) -> int:
    """List record types and views, or show the columns of one.

    Without NAME, forms other than table list only the record types.
    """
    from harvest_look.schema import print_schema  # late: help needs none of it

    return print_schema(name, "json-schema" if json else format)
