"""``harvest rejects``: what could not be read, and reading it again."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from harvest import Dataset
from harvest.commands import print_json_line
from harvest.commands.asking import answer
from harvest.commands.tables import how_many, print_json, print_lines, print_table
from harvest.toolkit.amounts import count_in_words

RAW_SHOWN = 60
"""Characters of what was rejected that a table shows."""
CUT = "…"


def print_rejects(
    dataset: Path, rows: int, source: str | None, reason: str | None, *, json: bool
) -> int:
    """Print the first rejects of a dataset, or all of them as JSON lines."""

    def chosen(opened: Dataset) -> Iterator[dict[str, Any]]:
        for row in opened.rejects():
            if source in (None, row["source"]) and (reason is None or reason in row["reason"]):
                yield row

    if json:
        # only what was read to its end is printed
        with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
            answer(dataset, lambda opened: _write(chosen(opened), lines))
            lines.seek(0)
            shutil.copyfileobj(lines, sys.stdout)
        return 0

    def first(opened: Dataset) -> tuple[list[dict[str, Any]], int]:
        found = chosen(opened)
        shown = list(itertools.islice(found, rows))
        return shown, len(shown) + sum(1 for _ in found)

    shown, total = answer(dataset, first)
    if not total:
        print("no rejects")
        return 0
    texts = [r["raw"].decode("utf-8", "backslashreplace") for r in shown]
    print_table(
        ("origin", "position", "reason", "raw"),
        [
            (
                r["origin"],
                r["position"],
                r["reason"],
                text if len(text) <= RAW_SHOWN else text[:RAW_SHOWN] + CUT,
            )
            for r, text in zip(shown, texts, strict=True)
        ],
        right=("position",),
        forms={"origin": "path"},
    )
    if any(len(text) > RAW_SHOWN for text in texts):
        print(f"{CUT} marks raw text that goes on; --json has all that was kept")
    if total > rows:
        print(f"{how_many(rows, 'reject', total)} shown; --rows N or --json for more")
    return 0


def _write(rows: Iterable[dict[str, Any]], lines: IO[str]) -> None:
    """Write rows as JSON lines, in place of what was written before."""
    lines.seek(0)
    lines.truncate()
    with contextlib.redirect_stdout(lines):
        for row in rows:
            print_json_line(row)


def print_replay(done: Any, *, json: bool) -> int:
    """Print what came of reading partitions with rejects again; 3 when rejects remain.

    done: as ``Dataset.replay`` gives it.
    """
    again = done.again
    read = again.result.parts if again.result else ()
    if json:
        gone = [{"origin": part.origin, "reason": why} for part, why in again.gone]
        run = again.result.run if again.result else None
        answer = {"run": run, "read_again": [part.origin for part in read], "gone": gone}
        print_json({**answer, "rejects_before": done.before, "rejects": done.left})
    else:
        print(f"{count_in_words(len(read), 'partition')} read again")
        print_lines(f"{part.origin} cannot be read again: {why}" for part, why in again.gone)
        print(f"{count_in_words(done.before, 'reject')} before, {done.left:,} now")
    return 3 if done.left else 0
