"""What the kit for engines harvests: lines, some of which do something to the process that reads.

A run takes this file as a plugin by its path, so that a worker anywhere can find it.  A line
``bad`` is rejected, ``break`` is a defect of the source, ``full`` a full disk; ``print`` prints
much, ``pause S`` takes so long, ``same PATH`` compares the process with what PATH says of the
run's.  ``die PATH N`` kills the first N processes that read it, ``leave PATH N`` ends them without
an error; ``interrupt PATH`` sends SIGINT to the process whose number is in PATH, ``kill PATH``
SIGKILL, and both then wait, as ``hold PATH S`` does for so long, until there is a file PATH.go.
``PATH.readers`` gets the numbers of the processes that read such a line.
Beside the inputs, ``journal`` gets a line for what is done: ``prepared``, ``begun`` and ``ended``
with the process and the input, ``waited`` where one held in vain, ``other`` where one is not as the
run's process.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import pyarrow as pa

import harvest
from harvest import Partition, PartWriter, ReadContext, Record, field
from harvest.model import RecordType
from harvest_testing.engines.trial import surroundings
from harvest_testing.kits import ArrowSink

PATIENCE_S = 300
"""How long a line waits at most, so that no process is left for ever."""

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
        """With as much in its options as a file ``weight`` beside the inputs says."""
        note(partition, "prepared")
        weight = partition.path.parent.with_name("weight")
        if not weight.exists():
            return partition
        return attrs.evolve(partition, options={"weight": "x" * int(weight.read_text())})

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[WorkLine]:
        """A row per line."""
        note(partition, "begun")
        with partition.path.open() as file:
            text = file.read(READ).partition("\0")[0]
        for number, line in enumerate(text.splitlines(), 1):
            ctx.read(1)
            ctx.advance(len(line) + 1)
            if line.partition(" ")[0] in ACTS:
                _act(line, partition, ctx)
            if line == "bad":
                ctx.reject(line, "the line is bad", position=number)
            else:
                yield WorkLine(text=line, position=number)
        note(partition, "ended")


class WorkSink(ArrowSink):
    """Files of Arrow."""

    name = "conformance-work"

    def writer(self, staging: Path, part: str) -> PartWriter:
        """Finds the disk full where a row says so."""
        return _Writer(super().writer(staging, part))


class _Writer(PartWriter):
    def __init__(self, inner: PartWriter):
        self.inner = inner

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        if "full" in table["text"].to_pylist():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "the kit's own disk")
        self.inner.write(record_type, table)

    def close(self) -> Sequence[tuple[str, str, int]]:
        return self.inner.close()

    def abort(self) -> None:
        self.inner.abort()


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


ACTS = ("break", "print", "pause", "same", "die", "leave", "interrupt", "kill", "hold")


def _act(line: str, partition: Partition, ctx: ReadContext) -> None:
    word, *rest = line.split(" ")
    if word == "break":
        raise _Defect("a defect of", "the kit's own")
    if word == "print":
        for stream in (sys.stdout, sys.stderr):
            stream.write("much\n" * 50_000)
            stream.flush()
    if word == "pause":
        time.sleep(float(rest[0]))
    if word in ("print", "pause"):
        return
    path = Path(rest[0])
    if word == "same":
        if path.read_text() != surroundings():
            note(partition, "other")
        return
    with path.with_name(f"{path.name}.readers").open("a+") as readers:
        readers.write(f"{os.getpid()}\n")
        readers.seek(0)
        times = len(readers.read().split())
    go = path.with_name(f"{path.name}.go")
    if word in ("die", "leave"):
        if not go.exists() and times <= int(rest[1]):
            if word == "leave":
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
        return
    if word in ("interrupt", "kill") and not go.exists():
        os.kill(int(path.read_text()), signal.SIGINT if word == "interrupt" else signal.SIGKILL)
    until = time.monotonic() + (float(rest[1]) if rest[1:] else PATIENCE_S)
    while not go.exists():
        if time.monotonic() > until:
            note(partition, "waited")
            return
        time.sleep(0.02)
        ctx.advance(0)  # what it got further is reported now and then
