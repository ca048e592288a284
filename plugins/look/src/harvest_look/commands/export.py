"""``harvest export``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import DatasetPath

from . import completion

__all__ = ["export"]


def export(
    dataset: DatasetPath,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Where to: a directory that does not exist yet.")
    ],
    form: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="NAME",
            help="The exporter, of those that `harvest plugins list --kind exporter` lists; "
            "ro-crate: a research object (RO-Crate 1.1).",
            autocompletion=completion.exporters,
        ),
    ] = "ro-crate",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the exporter. Repeatable.",
            autocompletion=completion.export_settings,
        ),
    ] = None,
    license_: Annotated[
        str | None,
        typer.Option(
            "--license", metavar="ID", help="An SPDX identifier, such as CC-BY-4.0, or a URL."
        ),
    ] = None,
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
    from harvest_look.export import export_dataset  # late: help needs none of it

    options = {
        "license": license_,
        "title": title,
        "description": description,
        "authors": authors,
        "publisher": publisher,
    }
    return export_dataset(dataset, target, form, settings, options)
