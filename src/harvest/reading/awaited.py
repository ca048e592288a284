"""Wait for bundles that other processes stage: batch jobs write to staging and return nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import attrs

from harvest.api.sink import Sink
from harvest.storage.staging import STAGING, Staged, parts_in

from .bundle import Bundle, Result
from .task import Progress, identify


@attrs.frozen
class Missing:
    """A partition that is not staged yet: its input, and its place in staging for each sink."""

    origin: str
    size_bytes: int
    places: tuple[tuple[Path, str], ...]

    @property
    def place(self) -> Path:
        state, stem = self.places[0]
        return state / STAGING / stem


class Awaited:
    """The bundles that an engine waits for, by the engine's own numbers.

    Ignores everything that was staged before this object was created.
    """

    def __init__(self, sinks: Iterable[Sink], on_progress: Callable[[Progress], None] | None):
        self._on_progress = on_progress
        self._waiting: dict[int, list[Missing]] = {}
        self._states = {sink.state for sink in sinks}
        self._seen = {directory for state in self._states for directory in _staged_in(state)}
        self._staged: dict[tuple[Path, str], Staged] = {}

    @property
    def numbers(self) -> Collection[int]:
        """Numbers of the bundles that are not completely staged."""
        return self._waiting.keys()

    def missing(self, number: int) -> Missing:
        """Return the first partition of a bundle that is not staged."""
        return self._waiting[number][0]

    def expect(self, number: int, bundle: Bundle) -> Bundle:
        """Wait for a bundle; return it with fingerprints, by which its results are matched."""
        tasks = tuple(map(identify, bundle._tasks))
        self._waiting[number] = [
            Missing(
                task.partition.origin,
                task.partition.size_bytes,
                tuple((sink.state, part.stem) for sink, part in task.targets),
            )
            for task in tasks
        ]
        return Bundle(tasks, bundle.terms)

    def found(self) -> Iterator[Result]:
        """Yield results staged since the last call; list staging once and read only new entries."""
        if not self._look():
            return
        for number in list(self._waiting):
            left = []
            for missing in self._waiting[number]:
                if not all(place in self._staged for place in missing.places):
                    left.append(missing)
                    continue
                whole = tuple(self._staged.pop(place) for place in missing.places)
                if self._on_progress is not None:
                    self._on_progress(Progress(whole[0].part.written, missing.size_bytes))
                yield Result((whole,))
            if left:
                self._waiting[number] = left
            else:
                del self._waiting[number]

    def _look(self) -> bool:
        before = len(self._seen)
        for state in self._states:
            for directory in _staged_in(state) - self._seen:
                for part in parts_in(directory):
                    self._seen.add(directory)
                    self._staged[state, part.stem] = Staged(part, directory)
        return len(self._seen) > before


def _staged_in(state: Path) -> set[Path]:
    staging = state / STAGING
    return set(staging.iterdir()) if staging.is_dir() else set()
