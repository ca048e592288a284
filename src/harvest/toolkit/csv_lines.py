"""Lines of a CSV table, block by block, as columns of text.

The tables are plain: no cell holds a comma or a line end, so lines are split by column.  The rare
line with a quote goes through the csv module alone.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import attrs
import polars as pl

__all__ = ["Block", "blocks", "header"]

BLOCK_BYTES = 4 * 1024 * 1024
LONGEST_LINE = 1024 * 1024
"""Bytes of a line; a longer one is no line of a table, and is rejected by its beginning."""
_BOM = b"\xef\xbb\xbf"


@attrs.frozen
class Block:
    """Some consecutive lines below the header.

    frame: column ``line`` (number in the file, from 1), then the table's columns as text.
    bad: (line number, raw line, reason) of lines that do not have the table's columns.
    blank: how many lines were empty.
    size: bytes of the block.
    """

    frame: pl.DataFrame
    bad: list[tuple[int, bytes, str]]
    blank: int
    size: int


def header(path: Path) -> list[str] | None:
    """The column names in the first line of a file; None where it is no text or too long."""
    with path.open("rb") as file:
        raw = file.readline(16 * 1024)
    if len(raw) == 16 * 1024 or b"\0" in raw:
        return None
    try:
        text = raw.removeprefix(_BOM).decode("utf-8")
        return [name.strip() for name in next(csv.reader([text.rstrip("\r\n")], strict=True), [])]
    except (UnicodeDecodeError, csv.Error):
        return None


def blocks(path: Path, columns: Sequence[str]) -> Iterator[Block]:
    """The lines below the header, which has these columns."""
    with path.open("rb") as file:
        file.readline()
        number, rest = 2, b""
        while chunk := file.read(BLOCK_BYTES):
            data, newline, tail = (rest + chunk).rpartition(b"\n")
            rest = tail
            if newline:
                block, count = _block(data, columns, number)
                number += count
                yield block
            if len(rest) > LONGEST_LINE:
                reason = f"longer than {LONGEST_LINE} bytes"
                nothing = _block(b"", columns, number)[0].frame
                yield Block(nothing, [(number, rest[:LONGEST_LINE], reason)], 0, len(rest))
                number, rest = number + 1, _behind_line(file)
        if rest:
            yield _block(rest, columns, number)[0]


def _behind_line(file: IO[bytes]) -> bytes:
    """What was read behind the end of the line in which the file stands."""
    while piece := file.read(BLOCK_BYTES):
        _, newline, behind = piece.partition(b"\n")
        if newline:
            return behind
    return b""


def _block(data: bytes, columns: Sequence[str], first: int) -> tuple[Block, int]:
    raw = data.split(b"\n")
    bad: list[tuple[int, bytes, str]] = []
    try:
        texts: list[str | None] = list(data.decode("utf-8").split("\n"))
    except UnicodeDecodeError:
        texts = []
        for number, line in enumerate(raw, first):
            try:
                texts.append(line.decode("utf-8"))
            except UnicodeDecodeError as error:
                bad.append((number, line, f"not UTF-8 text: {error.reason}"))
                texts.append(None)
    text = pl.col("text")
    frame = pl.DataFrame(
        {
            "line": pl.int_range(first, first + len(raw), dtype=pl.Int64, eager=True),
            "text": pl.Series(texts, dtype=pl.String).str.strip_suffix("\r"),
        }
    )
    blank = frame.filter(text.str.strip_chars() == "").height
    frame = frame.filter(text.is_not_null() & (text.str.strip_chars() != ""))
    quoted = frame.filter(text.str.contains('"', literal=True))
    frame = frame.filter(~text.str.contains('"', literal=True)).with_columns(
        text.str.split(",").alias("cells")
    )
    if not quoted.is_empty():
        frame = pl.concat([frame, _quoted(quoted, bad)]).sort("line")
    fits = pl.col("cells").list.len() == len(columns)
    for line, odd, cells in frame.filter(~fits).select("line", "text", "cells").iter_rows():
        reason = f"{len(cells)} fields where the header has {len(columns)}"
        bad.append((line, odd.encode(), reason))
    frame = frame.filter(fits).select(
        "line",
        *(
            pl.col("cells").list.get(index).str.strip_chars().alias(name)
            for index, name in enumerate(columns)
        ),
    )
    return Block(frame, sorted(bad), blank, len(data) + 1), len(raw)


def _quoted(lines: pl.DataFrame, bad: list[tuple[int, bytes, str]]) -> pl.DataFrame:
    rows = []
    for line, text in lines.select("line", "text").iter_rows():
        try:
            rows.append((line, text, next(csv.reader([text], strict=True))))
        except (csv.Error, StopIteration) as error:
            bad.append((line, text.encode(), f"damaged quoting: {error}"))
    schema = pl.Schema({"line": pl.Int64(), "text": pl.String(), "cells": pl.List(pl.String)})
    return pl.DataFrame(rows, schema=schema, orient="row")
