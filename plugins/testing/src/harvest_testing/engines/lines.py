"""What the kit for engines harvests: lines, some of which do something to the process that reads.

A run takes this file as a plugin by its path, so that a worker anywhere can find it.  A line
``bad`` is rejected, ``break`` is a defect of the source, ``full`` a full disk; ``pause S`` takes so
long.  ``die PATH N`` kills the first N processes that read it; ``interrupt PATH`` sends SIGINT to
the process whose number is in PATH, and waits, as ``hold PATH S`` does, until PATH.go is there.
Beside the inputs, ``journal`` gets a line for what is done: ``prepared`` and ``begun`` with the
process and the input, ``died`` of one that kills itself, ``waited`` where one held in vain.
"""

from __future__ import annotations

import os

from harvest import Partition


def note(partition: Partition, what: str) -> None:
    """Write a line into the journal."""
    words = f"{what} {os.getpid()} {os.fsencode(partition.path.name).hex()}\n"
    with partition.path.parent.with_name("journal").open("a") as journal:
        journal.write(words)
