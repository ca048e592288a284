"""``harvest export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.cli.options import DatasetPath
from harvest.toolkit.completion import words

__all__ = ["export"]


def export(
    dataset: DatasetPath,
    target: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory that does not exist yet.")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="FORM",
            help="ro-crate: a research object (RO-Crate 1.1).",
            autocompletion=words("ro-crate"),
        ),
    ],
    license_: Annotated[
        str,
        typer.Option(
            "--license", metavar="ID", help="An SPDX identifier, such as CC-BY-4.0, or a URL."
        ),
    ],
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is called.")] = None,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it is about.")
    ] = None,
    authors: Annotated[
        list[str] | None,
        typer.Option(
            "--author", metavar="NAME[, ORCID]", help="Who made it. Repeatable; the first ran it."
        ),
    ] = None,
    publisher: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The organisation that offers it.")
    ] = None,
) -> int:
    """Write a dataset in a form that others can find, understand and cite.

    Example: harvest export out crate --as ro-crate --license CC-BY-4.0 --author 'Ada Lovelace'
    """
    from harvest.cli.actions.export import export_crate  # late: help needs none of it

    return export_crate(dataset, target, form, license_, title, description, authors, publisher)
