"""A log as events: lines that begin one, each with the lines that go on with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from harvest import Partition, ReadContext
from harvest.toolkit.texts import not_utf8
from harvest_toolkit.lines import BLOCK_BYTES, LongLine, blocks, decode

CONTINUED: Final = "continuation line"
EVENT_LINES: Final = 20_000
EVENT_BYTES: Final = 8 * 1024 * 1024
"""Lines and bytes that are kept as one event; what goes on longer becomes an event of its own."""


def log_events(partition: Partition, ctx: ReadContext, begins: pl.Expr) -> Iterator[pl.DataFrame]:
    """The events of a log, a block at a time.

    begins: whether a text in column ``line`` begins an event.  Lines before the first that does
        are an event, too.

    Columns: ``position`` of the first line, ``line`` (its text), ``rest`` (the other lines, each
    after a newline; without trailing blanks).  Every line is counted as read, those in ``rest``
    as merged, and blank ones before the first event as filtered.  Programs print any bytes: those
    that are not UTF-8 are shown as ``\\xNN``.
    """
    held = pl.DataFrame(schema={"position": pl.Int64, "line": pl.String})
    for lines in _lines(partition, ctx):
        lines = pl.concat([held, lines]).with_columns(begins=begins.fill_null(value=False))
        marks = lines["begins"].arg_true()
        # the last event may go on in the next block
        keep = int(marks[-1]) if len(marks) else 0
        held = lines.slice(keep).select("position", "line")
        if held.height > EVENT_LINES or held["line"].str.len_bytes().sum() > EVENT_BYTES:
            keep, held = lines.height, held.clear()
        yield from _events(lines.slice(0, keep), ctx)
    if held.height:
        yield from _events(held.with_columns(begins=begins.fill_null(value=False)), ctx)


def _lines(partition: Partition, ctx: ReadContext) -> Iterator[pl.DataFrame]:
    """The lines of a log as texts, with their numbers; those that are too long are rejected."""
    number, ended = 1, True
    with partition.path.open("rb") as stream:
        for block in blocks(stream, line_limit=BLOCK_BYTES):
            if isinstance(block, LongLine):
                ctx.advance(block.size_bytes)
                ctx.reject(block.raw, block.reason, position=number, record_type="dask.log_event")
                count, ended = 1, block.ended
            else:
                ctx.advance(len(block))
                ended = block.endswith(b"\n")
                if not_utf8(block):
                    block = block.decode("utf-8", "backslashreplace").encode()
                lines = decode(block, number)
                count = lines.count
                # polars' own split would set aside sixteen bytes for each byte of the text
                texts = pl.Series(lines.texts, dtype=pl.String).str.strip_chars_end("\r")
                yield pl.DataFrame({"position": pl.Series(lines.numbers, dtype=pl.Int64),
                                    "line": texts})  # fmt: skip
            ctx.read(count)
            number += count
    if number == 1:
        ctx.note(f"{partition.path.name} is empty")
    elif not ended:
        ctx.note("the file has no final newline: its last line may be cut off")


def _events(lines: pl.DataFrame, ctx: ReadContext) -> Iterator[pl.DataFrame]:
    """The events of some lines, the first of which begins one or is a stray continuation."""
    lines = lines.with_columns(event=pl.col("begins").cast(pl.UInt32).cum_sum())
    stray = (pl.col("event") == 0) & (pl.col("line").str.strip_chars() == "")
    blank = lines.filter(stray)
    if blank.height:
        ctx.filtered(blank.height, "blank line")
        lines = lines.filter(~stray)
    if not lines.height:
        return
    first = pl.col("event") != pl.col("event").shift(1)
    lines = lines.with_columns(first=first.fill_null(value=True))
    heads = lines.filter(pl.col("first")).select("event", "position", "line")
    others = lines.filter(~pl.col("first"))
    ctx.folded(others.height, CONTINUED)
    if others.height:
        rests = others.group_by("event").agg(rest=pl.col("line").str.join("\n"))
        rest = "\n" + pl.col("rest").str.strip_chars_end()
        heads = heads.join(rests, on="event", how="left", maintain_order="left").with_columns(
            rest=pl.when(pl.col("rest").str.strip_chars() != "").then(rest).otherwise(pl.lit(""))
        )
    else:
        heads = heads.with_columns(rest=pl.lit(""))
    yield heads.select("position", "line", "rest")
