"""The commands ``harvest ncem ...``."""

from pathlib import Path
from typing import Annotated

import typer

import harvest
from harvest import UsageError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.completion import argument, group, option

app = group("4D-STEM scans: a draft of the study's file from the data.")


@app.command("study")
def study_command(
    dataset: Annotated[Path, argument("DATASET", "What a sink wrote.")],
    output: Annotated[
        Path | None, option("-o --output FILE", "Write it there, to a new file.")
    ] = None,
) -> None:
    """Write a draft of study.toml from the data: the ranges of scans by method and size.

    A range holds scans of one method and one size. The size comes from Distiller's
    jobs, the bytes of the raw data, or a path such as 128x128/. Where none says
    it, scans of about the same duration and interval form a range. A range of
    unknown size is a comment that you complete.
    """
    # imported only when the command runs: ``--help`` needs no polars
    from .draft import draft

    text = draft(harvest.open(dataset))
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            "there is such a file already", where=str(output), remedy="name a new one with -o"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(output)) from error
    ranges, open_ones = text.count("[[range]]"), text.count("# [[range]]")
    lack = f", {open_ones} of them without a size: see its comments" if open_ones else ""
    typer.echo(f"{count_in_words(ranges, 'range')} written to {output}{lack}")
