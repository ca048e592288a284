"""Wait for bundles that other processes stage: batch jobs write to staging and return nothing."""

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from harvest.api.sink import Sink
from harvest.storage.staging import STAGING, Staged, parts_in

from .bundle import Bundle, Result
from .task import Progress, Task, identify


class Awaited:
    """The bundles that an engine waits for, by the engine's own numbers.

    Ignores everything that was staged before this object was created.
    """

    def __init__(self, sinks: Iterable[Sink], on_progress: Callable[[Progress], None] | None):
        self._on_progress = on_progress
        self._waiting: dict[int, list[Task]] = {}
        self._states = {sink.state for sink in sinks}
        self._seen = {directory for state in self._states for directory in _staged_in(state)}
        self._staged: dict[tuple[Path, str], Staged] = {}

    @property
    def numbers(self) -> Collection[int]:
        """Numbers of the bundles that are not completely staged."""
        return self._waiting.keys()

    def missing(self, number: int) -> tuple[str, Path]:
        """Return origin and place of the first partition of a bundle that is not staged."""
        task = self._waiting[number][0]
        sink, part = task.targets[0]
        return task.partition.origin, sink.state / STAGING / part.stem

    def expect(self, number: int, bundle: Bundle) -> Bundle:
        """Wait for a bundle; return it with fingerprints, by which its results are matched."""
        tasks = tuple(map(identify, bundle._tasks))
        self._waiting[number] = list(tasks)
        return Bundle(tasks, bundle.terms)

    def found(self) -> Iterator[Result]:
        """Yield results staged since the last call; list staging once and read only new entries."""
        if not self._look():
            return
        for number in list(self._waiting):
            left = []
            for task in self._waiting[number]:
                places = [(sink.state, part.stem) for sink, part in task.targets]
                if not all(place in self._staged for place in places):
                    left.append(task)
                    continue
                whole = tuple(map(self._staged.pop, places))
                if self._on_progress is not None:
                    size = task.partition.size_bytes
                    self._on_progress(Progress(whole[0].part.written, size))
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
