"""Writing the timeline of a run as one HTML page: nothing is fetched, data never becomes code.

Its data are blocks of bytes that a browser reads as typed arrays.  A block holds its columns one
after the other, little-endian, those of eight bytes first so that all are aligned; or texts as
UTF-8, one on each line.  It is compressed by gzip, and in base64.
"""

from __future__ import annotations

import base64
import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, seconds_in_words
from harvest.toolkit.files import write_atomically
from harvest.toolkit.texts import printable_line
from harvest_report import COLOURS
from harvest_report.interactive import as_data, digest, inline, library

from ..frames import choose_run
from ..record_names import CATEGORIES
from ..trace.tracks import iso_of
from ..trace.view import RunTrace, checked_path
from .figure import figure_item, kinds_of, need, rows_of
from .slices import Slices, collect, count_categories, levels

SUFFIX: Final = ".html"
TEMPLATE: Final = Path(__file__).with_name("page.html.j2")
SCRIPT: Final = Path(__file__).with_name("page.js")
PALETTE: Final = {**COLOURS, "transfer": ("#7f8a9a", "#8a95a6"), "write": ("#a8321f", "#ff9b85")}


def write_timeline(
    dataset: DatasetReader, path: str | Path, *, run: str | None = None
) -> Counter[str]:
    """Write one run's timeline as a page; gives the number of slices by category.

    path: ends with .html; it is replaced when all is written.
    run: the run's directory, or its last part; needed where the dataset holds several.

    Raises UsageError for another ending, or when a run must be chosen; HarvestError where the
    extra ``timeline`` is not installed.
    """
    path = checked_path(path, "a timeline is a page", (SUFFIX,))
    need("bokeh")
    slices = collect(RunTrace(dataset, choose_run(dataset, run, "--run")))
    write_atomically(path, to_page(slices).encode())
    return count_categories(slices)


def to_page(slices: Slices) -> str:
    """The page."""
    kinds, kind_of_name = kinds_of(slices)
    labels, row_of_lane = rows_of(slices.lanes)
    layers = [kinds[kind].layer for kind in kind_of_name]
    found = levels(slices.rows, layers, slices.span)
    made: list[Block] = []
    for number, level in enumerate(found):
        made += blocks(number, "alone", level.alone)
        made += blocks(number, "merged", level.merged)
    index = {
        "start": slices.start,
        "span": slices.span,
        "events": slices.rows.height,
        "lanes": [[lane.process, lane.label, lane.thread] for lane in slices.lanes],
        "rows": row_of_lane,
        "height": max(len(labels), 1),
        "names": slices.names.rows(),
        "kinds": [[kind.label, kind.colour, kind.layer] for kind in kinds],
        "kind_of_name": kind_of_name,
        "widths": [level.width for level in found],
        "columns": {"alone": ALONE, "merged": MERGED},
        "blocks": [block.head() for block in made],
        "figure": figure_item(labels, row_of_lane, kinds, slices.span / 1e6),
    }
    scripts = [inline(library()), inline(SCRIPT.read_text("utf-8"))]
    return _render(slices, index, made, scripts)


def _render(
    slices: Slices, index: dict[str, Any], made: Iterable[Block], scripts: list[str]
) -> str:
    jinja2 = need("jinja2")
    markup = need("markupsafe").Markup
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["line"] = printable_line
    page: str = environment.from_string(TEMPLATE.read_text("utf-8")).render(
        title=f"Timeline of {slices.run.rpartition('/')[2]}",
        start=iso_of(slices.start),
        took=seconds_in_words(slices.span / 1e6),
        notes=_notes(slices),
        colours=PALETTE,
        index=markup(as_data(index)),
        blocks=made,
        scripts=[markup(script) for script in scripts],
        hashes=[markup(digest(script)) for script in scripts],
    )
    return page + "\n"


def _notes(slices: Slices) -> list[str]:
    """What is drawn and what is left out."""
    events = slices.events
    arrows, names = events["s"] + events["f"], events["M"]
    notes = [
        "Events of a lane that are closer than a pixel are one mark. Its height is the busy share "
        "of its time, and its color that of the kind with the most time.",
        f"The view dask.trace has {count_in_words(events.total(), 'row')} for this run. "
        f"{events['X']:,} are events and are all here: {_shown(slices)}. {arrows:,} are ends of "
        f"arrows between the two sides of a transfer (not drawn); {names:,} name lanes.",
    ]
    if slices.left_out:
        left_out = (f"{count:,} {what}" for what, count in slices.left_out.items())
        notes.append(f"Not drawn: {', '.join(left_out)}.")
    return notes


def _shown(slices: Slices) -> str:
    """How many events of each category there are."""
    counts = count_categories(slices)
    return (
        ", ".join(
            count_in_words(counts[category], *words)
            for category, words in CATEGORIES.items()
            if counts[category]
        )
        or "none"
    )


BLOCK_ROWS: Final = 16_384
COMPRESSION: Final = 6

ALONE: Final = {"start": "<f8", "dur": "<f8", "lane": "<u4", "name": "<u4"}
"""Columns of a block of slices.  Their ``args``, of which a reader sees few, are in the next block.

Whole microseconds are exact in eight bytes up to 2**53, 285 years."""
MERGED: Final = {"start": "<f8", "dur": "<f8", "busy": "<f8", "lane": "<u4", "name": "<u4",
                 "count": "<u4"}  # fmt: skip
"""Columns of a block of marks."""


@attrs.frozen
class Block:
    """Some rows of a level.

    level: its number; kind: ``alone``, ``args`` (of the block before) or ``merged``.
    begin, end: what it covers, in microseconds.  data: base64.
    """

    level: int
    kind: str
    rows: int
    begin: int
    end: int
    data: str

    def head(self) -> dict[str, Any]:
        """All but the data."""
        return attrs.asdict(self, filter=lambda field, _: field.name != "data")


def blocks(level: int, kind: str, rows: pl.DataFrame) -> Iterator[Block]:
    """Rows, which are ordered by start, in blocks."""
    columns = ALONE if kind == "alone" else MERGED
    for part in rows.iter_slices(BLOCK_ROWS):
        packed = [part[name].to_numpy().astype(kept).tobytes() for name, kept in columns.items()]
        begin, end = part.select(
            pl.col("start").min(), end=(pl.col("start") + pl.col("dur")).max()
        ).row(0)
        yield Block(level, kind, part.height, begin, end, _squeeze(b"".join(packed)))
        if kind == "alone":
            lines = "\n".join(part["args"]).encode()
            yield Block(level, "args", part.height, begin, end, _squeeze(lines))


def _squeeze(data: bytes) -> str:
    # no name and no time in it: the same rows give the same bytes
    return base64.b64encode(gzip.compress(data, COMPRESSION, mtime=0)).decode()
