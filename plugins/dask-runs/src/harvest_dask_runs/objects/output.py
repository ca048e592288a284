"""Atomic writing of tasks to a file: text, JSON lines or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harvest import UsageError
from harvest.toolkit.files import replacing

if TYPE_CHECKING:
    from .tasks import TaskHandler

__all__ = ["SUFFIXES", "check_suffix", "write_tasks"]

SUFFIXES = (".txt", ".jsonl", ".parquet")


def check_suffix(path: Path) -> str:
    """Return the suffix of an output file; raises UsageError if it is not in SUFFIXES."""
    if path.suffix not in SUFFIXES:
        raise UsageError(
            f"the suffix {path.suffix!r} names no format",
            where=str(path),
            remedy=f"end the name with {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}",
        )
    return path.suffix


def write_tasks(tasks: TaskHandler, path: Path, preamble: str = "") -> None:
    """Write tasks in the format that the suffix of ``path`` names.

    preamble: text before the tasks, in ``.txt`` only.
    """
    suffix = check_suffix(path)
    with replacing(path) as temporary, temporary.open("wb") as file:
        if suffix == ".parquet":
            tasks.frame.write_parquet(file)
        elif suffix == ".jsonl":
            tasks.frame.write_ndjson(file)
        else:
            # lone surrogates become escapes, as in keys
            file.write(preamble.encode("utf-8", "backslashreplace"))
            for number, block in enumerate(task.to_text() for task in tasks):
                separator = "\n" if number or preamble else ""
                file.write((separator + block).encode("utf-8", "backslashreplace"))
