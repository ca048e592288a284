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

import os

from harvest import Partition


def note(partition: Partition, what: str) -> None:
    """Write a line into the journal."""
    words = f"{what} {os.getpid()} {os.fsencode(partition.path.name).hex()}\n"
    with partition.path.parent.with_name("journal").open("a") as journal:
        journal.write(words)
