"""A submitted array, watched until all that its tasks are to stage is staged."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.batch import Batch, CommandStatus
from harvest.batch.batch import FIRST_PAUSE_S, LONGEST_PAUSE_S, PATIENCE_S, PAUSE_GROWS
from harvest.batch.slurm import SlurmError
from harvest.errors import HarvestError
from harvest.pipeline.task import Progress, Task
from harvest.storage.staging import STAGING, Staged, parts_in
from harvest.toolkit.texts import printable

from .tasks import read_error

__all__ = ["STAGE", "ArrayWatch"]

STAGE: Final = "harvest-stage"
"""The name of the job whose array tasks stage."""

LOOK_EVERY_S: Final = 2.0
"""How often staging is looked at, at least."""


@attrs.frozen
class _Awaited:
    """A partition that is to be staged: for each sink, by state directory and stem."""

    origin: str
    size_bytes: int
    places: tuple[tuple[Path, str], ...]


class ArrayWatch:
    """Awaits what ``expected`` was given.

    directory: of the batch; sinks: those of all tasks; retries: how often a task may be lost.
    """

    def __init__(
        self,
        directory: Path,
        sinks: Iterable[Sink],
        retries: int,
        on_progress: Callable[[Progress], None] | None,
    ):
        self.folder = directory / "tasks"
        self.retries = retries
        self.on_progress = on_progress
        self.waiting: dict[int, list[_Awaited]] = {}
        self.lost: dict[int, int] = {}
        self.unseen: set[int] = set()
        self.states = {sink.state for sink in sinks}
        # what an earlier run left is none of this one's
        self.seen = {directory for state in self.states for directory in _staged_in(state)}
        self.staged: dict[tuple[Path, str], Staged] = {}

    def expected(self, chunks: Iterable[Sequence[Task]]) -> Iterator[Sequence[Task]]:
        """The partitions of each array task, as they are: they are awaited from then on."""
        for number, chunk in enumerate(chunks):
            self.lost[number] = 0
            self.waiting[number] = [
                _Awaited(
                    task.partition.origin,
                    task.partition.size_bytes,
                    tuple((sink.state, part.stem) for sink, part in task.targets),
                )
                for task in chunk
            ]
            yield chunk

    def results(self, batch: Batch) -> Iterator[tuple[Staged, ...]]:
        """Results as they are staged by the batch's tasks, until all are there."""
        self.batch = batch
        pause, asked = FIRST_PAUSE_S, time.monotonic()
        answered = asked
        while self.waiting:
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
            # after Slurm was asked: what it calls ended is staged by now
            yield from self._results_staged()
            if found and self._judge(found):
                pause = FIRST_PAUSE_S

    def _results_staged(self) -> Iterator[tuple[Staged, ...]]:
        if not self._look():
            return
        for number in list(self.waiting):
            left = []
            for awaited in self.waiting[number]:
                if not all(place in self.staged for place in awaited.places):
                    left.append(awaited)
                    continue
                whole = tuple(self.staged.pop(place) for place in awaited.places)
                if self.on_progress is not None:
                    self.on_progress(Progress(whole[0].part.written, awaited.size_bytes))
                yield whole
            if left:
                self.waiting[number] = left
            else:
                del self.waiting[number]

    def _look(self) -> bool:
        """Find what was staged since the last look: a listing, and what is new in it."""
        before = len(self.seen)
        for state in self.states:
            for directory in _staged_in(state) - self.seen:
                for part in parts_in(directory):
                    self.seen.add(directory)
                    self.staged[state, part.stem] = Staged(part, directory)
        return len(self.seen) > before

    def _place(self, number: int) -> Path:
        """Where the first partition that an array task owes is staged, if by itself."""
        state, stem = self.waiting[number][0].places[0]
        return state / STAGING / stem

    def _judge(self, found: Iterable[CommandStatus]) -> bool:
        """Raise what stopped a task, submit lost ones again; whether any was."""
        gone = [c for c in found if c.number in self.waiting and not c.active]
        for command in gone:
            error = read_error(self.folder, command.number)
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
        log = printable(str(self.batch.directory / STAGE / "log"))
        if command.state == "done":
            return HarvestError(
                "an array task ended well, but what it staged is not here",
                where=str(self._place(command.number)),
                remedy=f"check that all nodes see the dataset's directory; logs are in {log}",
            )
        return HarvestError(
            f"array task {command.number} was lost {self.lost[command.number]} times, "
            f"the last time so: {command.reason}",
            where=printable(self.waiting[command.number][0].origin),
            remedy=f"see the logs in {log}; give more memory or time, and run again: finished "
            "partitions are kept",
        )


def _staged_in(state: Path) -> set[Path]:
    staging = state / STAGING
    return set(staging.iterdir()) if staging.is_dir() else set()
