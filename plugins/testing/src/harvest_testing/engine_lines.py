"""The plugin of the kit for engines: text files, some of whose lines act on the reading process.

A run loads this file as a plugin by its path, so that a worker anywhere can find it. A line
``bad`` is rejected, ``break`` raises an error in the source, and ``pause S`` sleeps S seconds.
``die PATH N`` kills the first N processes that read it; the file PATH counts them.
The file ``journal`` next to the input directory gets a line for each event: ``prepared``, ``begun``
or ``died``, with the process id and the name of the input.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import harvest
from harvest import Partition, ReadContext, Record, field
from harvest_testing.source.reading import ArrowSink

READ = 1 << 20
"""Maximum characters to read from a file: the rest of a large file is a hole."""


@harvest.record("conformance.work", layer="workflow", level="client")
class WorkLine(Record):
    """One line of a text file."""

    text: str = field(role="subject", doc="The line, without its end.")


class WorkSource(harvest.Source):
    """Reads text files line by line."""

    name = "conformance-work"
    record_types = (WorkLine,)

    def prepare(self, partition: Partition) -> Partition:
        """Record the call in the journal; return the partition unchanged."""
        note(partition, "prepared")
        return partition

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[WorkLine]:
        """Yield a row for each line, and act on lines that are commands."""
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
    """Writes Arrow files."""

    name = "conformance-work"


def note(partition: Partition, what: str) -> None:
    """Append an event to the journal."""
    words = f"{what} {os.getpid()} {os.fsencode(partition.path.name).hex()}\n"
    with partition.path.parent.with_name("journal").open("a") as journal:
        journal.write(words)


class _Defect(Exception):
    """An error that cannot be pickled, as a source may raise that never ran in another process."""

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
