"""What the kit for engines harvests: lines, some of which do something to the process that reads.

A run takes this file as a plugin by its path, so that a worker anywhere can find it.  A line
``bad`` is rejected, ``break`` is a defect of the source; ``pause S`` takes so long.
``die PATH N`` kills the first N processes that read it.
Next to the inputs, ``journal`` gets a line for what is done: ``prepared`` and ``begun`` with the
process and the input, ``died`` of one that kills itself.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import harvest
from harvest import Partition, ReadContext, Record, field
from harvest_testing.source.reading import ArrowSink

READ = 1 << 20
"""Letters that are read of a file: the rest of a large one is a hole."""


@harvest.record("conformance.work", layer="workflow", level="client")
class WorkLine(Record):
    """One line of a text file."""

    text: str = field(role="subject", doc="The line, without its end.")


class WorkSource(harvest.Source):
    """Lines of text files."""

    name = "conformance-work"
    record_types = (WorkLine,)

    def prepare(self, partition: Partition) -> Partition:
        """The partition as it is."""
        note(partition, "prepared")
        return partition

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[WorkLine]:
        """A row per line."""
        note(partition, "begun")
        with partition.path.open() as file:
            text = file.read(READ).partition("\0")[0]
        for number, line in enumerate(text.splitlines(), 1):
            ctx.read(1)
            ctx.advance(len(line) + 1)
            _act(line, partition)
            if line == "bad":
                ctx.reject(line, "the line is bad", position=number)
            else:
                yield WorkLine(text=line, position=number)


class WorkSink(ArrowSink):
    """Files of Arrow."""

    name = "conformance-work"


def note(partition: Partition, what: str) -> None:
    """Write a line into the journal."""
    words = f"{what} {os.getpid()} {os.fsencode(partition.path.name).hex()}\n"
    with partition.path.parent.with_name("journal").open("a") as journal:
        journal.write(words)


class _Defect(Exception):
    """What sources raise that were never sent to another process: no pickle takes it."""

    def __init__(self, whose: str, what: str) -> None:
        super().__init__(f"{whose} {what}")
        self.held = lambda: what


def _act(line: str, partition: Partition) -> None:
    word, _, rest = line.partition(" ")
    if word == "break":
        raise _Defect("a defect of", "the kit's own")
    if word == "pause":
        time.sleep(float(rest))
    elif word == "die":
        path, times = rest.rsplit(" ", 1)
        with Path(path).open("a+") as deaths:
            if deaths.tell() < int(times):
                deaths.write(".")
                deaths.flush()
                note(partition, "died")
                os.kill(os.getpid(), signal.SIGKILL)
