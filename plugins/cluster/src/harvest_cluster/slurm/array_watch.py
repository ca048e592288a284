"""Watching of a submitted array until its tasks have staged everything."""

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from harvest import Result, interrupt
from harvest.engines import Awaited
from harvest.errors import HarvestError
from harvest.toolkit.texts import printable
from harvest_cluster.batch import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    PATIENCE_S,
    PAUSE_GROWS,
    Batch,
    CommandStatus,
    SlurmError,
)

from .tasks import read_error

STAGE: Final = "harvest-stage"
"""Name of the job whose array tasks stage partitions."""

LOOK_EVERY_S: Final = 2.0
"""Maximum seconds between checks of staging."""


@attrs.define(eq=False)
class ArrayWatch:
    """Watches the tasks of an array until all expected partitions are staged.

    retries: maximum number of times that a task may be lost.
    """

    batch: Batch
    awaited: Awaited
    retries: int
    lost: Counter[int] = attrs.field(factory=Counter)
    unseen: set[int] = attrs.field(factory=set)

    def results(self) -> Iterator[Result]:
        """Yield results as the batch's tasks stage them, until all are complete."""
        pause, asked = FIRST_PAUSE_S, time.monotonic()
        answered = asked
        while self.awaited.numbers:
            interrupt.sleep(min(pause, LOOK_EVERY_S))
            found: Sequence[CommandStatus] = ()
            if time.monotonic() - asked >= pause:
                asked = time.monotonic()
                pause = min(pause * PAUSE_GROWS, LONGEST_PAUSE_S)
                try:
                    found = self.batch.status()[0].commands
                    answered = asked
                except SlurmError:
                    if asked - answered > PATIENCE_S:
                        raise
            # after the query to Slurm: tasks that it reports as ended have staged by now
            yield from self.awaited.found()
            if found and self._judge(found):
                pause = FIRST_PAUSE_S

    def _judge(self, found: Iterable[CommandStatus]) -> bool:
        """Raise the error that stopped a task, resubmit lost tasks; return whether any was lost."""
        gone = [c for c in found if c.number in self.awaited.numbers and not c.active]
        for command in gone:
            error = read_error(self.batch.directory / "tasks", command.number)
            if error is not None:
                raise error
        self.unseen &= {command.number for command in gone}
        again = []
        for command in gone:
            number = command.number
            if number not in self.unseen:
                # staged work may take a moment to be seen from another node
                self.unseen.add(number)
                continue
            self.unseen.discard(number)
            self.lost[number] += 1
            if command.state == "done" or self.lost[number] > self.retries:
                raise self._lost(command)
            again.append(number)
        if again:
            with contextlib.suppress(SlurmError):  # then it is tried again, as another loss
                self.batch.resubmit(STAGE, again)
        return bool(gone)

    def _lost(self, command: CommandStatus) -> HarvestError:
        origin, place = self.awaited.missing(command.number)
        log = printable(str(self.batch.directory / STAGE / "log"))
        if command.state == "done":
            problem = "an array task succeeded, but its staged files are missing here"
            remedy = f"check that all nodes see the dataset's directory; logs are in {log}"
            return HarvestError(problem, where=str(place), remedy=remedy)
        return HarvestError(
            f"array task {command.number} was lost {self.lost[command.number]} times, "
            f"the last time so: {command.reason}",
            where=printable(origin),
            remedy=f"see the logs in {log}; give more memory or time, and run again: finished "
            "partitions are kept",
        )
