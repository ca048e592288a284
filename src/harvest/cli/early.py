"""Workers of a run that surely needs them are begun before the command line is even parsed.

Parsing, planning and the libraries for it take as long as the libraries that workers need, and can
go on beside them.  What is found here is a guess that decides nothing: a run that needs no workers
ends those that were begun, and one that needs them starts them if they were not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

__all__ = ["LARGE_BYTES", "begin_workers"]

LARGE_BYTES: Final = 64 << 20
"""A file for which workers are certainly wanted."""

_NOT_RUN: Final = frozenset({"--dry-run", "--print-config", "--help", "-h"})


def begin_workers(argv: Sequence[str]) -> None:
    """Begin what workers are forked from, where ``argv`` is a run of large files or names them."""
    if argv[:1] != ["run"] or not _NOT_RUN.isdisjoint(argv):
        return
    if any(engine != "local" for engine in _given(argv, "--engine")):
        return
    workers = list(_given(argv, "--workers"))
    if "1" in workers:
        return
    if not workers and not any(map(_is_large, _given(argv, "--source", "-s"))):
        return
    from harvest.engines import forking

    forking.begin(["harvest.run.reading", "harvest.engines.local"])


def _given(argv: Sequence[str], *names: str) -> Iterator[str]:
    """The values of an option."""
    for place, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if word in names:
            yield from argv[place + 1 : place + 2]
        elif equals and name in names:
            yield value


def _is_large(source: str) -> bool:
    """Whether a source is one large file."""
    try:
        return Path(source.partition(":")[2]).stat().st_size >= LARGE_BYTES
    except (OSError, ValueError):
        return False
