"""What the kit for engines harvests: lines, some of which do something to the process that reads.

A run takes this file as a plugin by its path, so that a worker anywhere can find it.  A line
``bad`` is rejected; ``die PATH`` kills the process that is the first to read it; ``interrupt PATH``
sends SIGINT to the process whose number is in PATH, and then waits, as ``hold PATH`` does, until
there is a file PATH.go.  ``PATH.readers`` gets the numbers of the processes that read such a line.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import harvest
from harvest import Partition, ReadContext, Record, field
from harvest_testing.source.runs import ArrowSink

PATIENCE_S = 300
"""How long a line waits at most, so that no process is left for ever."""


@harvest.record("conformance.work", layer="workflow", level="client")
class WorkLine(Record):
    """One line of a text file."""

    text: str = field(role="subject", doc="The line, without its end.")


class WorkSource(harvest.Source):
    """Lines of text files."""

    name = "conformance-work"
    record_types = (WorkLine,)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[WorkLine]:
        """A row per line."""
        for number, line in enumerate(partition.path.read_text().splitlines(), 1):
            ctx.read(1)
            ctx.advance(len(line) + 1)
            word, _, path = line.partition(" ")
            if word in ("die", "interrupt", "hold"):
                _act(word, Path(path))
            if line == "bad":
                ctx.reject(line, "the line is bad", position=number)
            else:
                yield WorkLine(text=line, position=number)


class WorkSink(ArrowSink):
    """Files of Arrow."""

    name = "conformance-work"


def _act(word: str, path: Path) -> None:
    with path.with_name(f"{path.name}.readers").open("a") as readers:
        readers.write(f"{os.getpid()}\n")
    go = path.with_name(f"{path.name}.go")
    if word == "die":
        if go.exists():
            return
        go.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "interrupt" and not go.exists():
        os.kill(int(path.read_text()), signal.SIGINT)
    until = time.monotonic() + PATIENCE_S
    while not go.exists() and time.monotonic() < until:
        time.sleep(0.02)
