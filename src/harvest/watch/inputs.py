"""The files that are watched: how they are, since when, and how the last round found them.

Whether a file rests is judged by this machine's clock from one look to the next.  The times that
the file system gives are used once, when a file is first seen: one that was last changed long ago
need not be looked at twice.  A clock that is wrong makes a file wait, or be read while it is
written, which a run notices by itself.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence

import attrs

from harvest.api.sink import Sink

__all__ = ["Inputs", "Ours", "Stamp", "within"]

Stamp = tuple[int, ...]
"""Size, modification and change time, inode; one number for an error; nothing if it is gone."""

_DIRECTORY: Stamp = (-1,)
_OF_FILE = 4


def within(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


class Ours:
    """The places that a watch writes to, as far as they lie below what it watches."""

    def __init__(self, sinks: Iterable[Sink], roots: Sequence[str]):
        places = set()
        for sink in sinks:
            location = os.path.abspath(os.path.expanduser(sink.location))  # noqa: PTH100, PTH111
            if any(within(location, root) and location != root for root in _both(roots)):
                places.add(location)
            places.add(os.path.abspath(sink.state))  # noqa: PTH100
        self.places = tuple(sorted({*places, *map(os.path.realpath, places)}))

    def __contains__(self, path: str) -> bool:
        return any(within(path, place) for place in self.places)


def _both(roots: Sequence[str]) -> set[str]:
    return {*roots, *map(os.path.realpath, roots)}


@attrs.frozen
class _Seen:
    """How a look found a file, and since when it is so (by the monotonic clock)."""

    stamp: Stamp
    since: float


class Inputs:
    """The files below some roots, and others that sources named.

    roots: absolute paths of files or directories, there or not; ours: what is left out;
    settle_s: how long a file must not have changed to count as resting.
    """

    def __init__(self, roots: Sequence[str], ours: Ours, *, settle_s: float):
        self.roots = tuple(dict.fromkeys(roots))
        self.ours = ours
        self.settle_s = settle_s
        self._others: frozenset[str] = frozenset()
        self._seen: dict[str, _Seen] = {}
        self._taken: dict[str, Stamp] = {}
        # since when a file differs from what was taken
        self._waiting: dict[str, float] = {}

    def look(self) -> bool:
        """See how every file is now; whether any is not as the look before saw it."""
        found = dict(self._survey())
        changed = found.keys() != self._seen.keys()
        seen = {}
        for path, stamp in found.items():
            before = self._seen.get(path)
            if before is not None and before.stamp == stamp:
                seen[path] = before
            else:
                changed = True
                seen[path] = _first_look(stamp, new=before is None)
        self._seen = seen
        now = time.monotonic()
        self._waiting = {path: self._waiting.get(path, now) for path in self.pending()}
        return changed

    def pending(self) -> Iterator[str]:
        """Files that are not as the last round found them."""
        for path, seen in self._seen.items():
            if self._taken.get(path) != seen.stamp:
                yield path
        for path in self._taken.keys() - self._seen.keys():
            yield path

    def due_at(self, patience_s: float) -> float | None:
        """When some file that is pending may be read, by the monotonic clock; None if none is.

        It may when it rests, or when it was pending for ``patience_s``.
        """
        times = [
            min(self._rests_at(path), since + patience_s) for path, since in self._waiting.items()
        ]
        return min(times, default=None)

    def leave(self, named: Iterable[str], patience_s: float) -> set[str]:
        """The files that are to be left to a later round.

        named: what the sources are going to read.  What no look has found, since it came later or
        lies elsewhere, is seen here and looked at from now on.
        """
        now = time.monotonic()
        self._others = frozenset(
            path
            for path in named
            if (path in self._others or path not in self._seen) and path not in self.ours
        )
        for path in self._others:
            for entry, stamp in self._one(path):
                if entry not in self._seen:
                    self._seen[entry] = _first_look(stamp, new=True)
                    self._waiting[entry] = now
        return {
            path
            for path, since in self._waiting.items()
            if self._rests_at(path) > now and now - since < patience_s
        }

    def take(self, left: Iterable[str]) -> None:
        """What the last look saw has been read, but for these files."""
        left = frozenset(left)
        taken = {path: seen.stamp for path, seen in self._seen.items() if path not in left}
        self._taken = {**{p: s for p, s in self._taken.items() if p in left}, **taken}
        self._waiting = {path: t for path, t in self._waiting.items() if path in left}

    def read_again(self, paths: Iterable[str]) -> None:
        """These files are to be read again, however they are."""
        now = time.monotonic()
        for path in paths:
            self._taken.pop(path, None)
            self._waiting.setdefault(path, now)

    def _rests_at(self, path: str) -> float:
        seen = self._seen.get(path)
        return -1.0 if seen is None else seen.since + self.settle_s  # what is gone rests

    def _survey(self) -> Iterator[tuple[str, Stamp]]:
        visited: set[tuple[int, int]] = set()
        for root in self.roots:
            yield from self._tree(root, visited)
        for path in self._others:
            yield from self._one(path)

    def _tree(self, root: str, visited: set[tuple[int, int]]) -> Iterator[tuple[str, Stamp]]:
        """Every file below a root; linked directories too, each once."""
        todo = [root]
        while todo:
            path = todo.pop()
            if path in self.ours:
                continue
            stamp, status = _stamp(path)
            if status is None or not stat.S_ISDIR(status.st_mode):
                yield path, stamp
                continue
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            try:
                names = os.listdir(path)  # noqa: PTH208 - millions of names, as text
            except OSError as error:
                yield path, (error.errno or 0,)
                continue
            yield path, _DIRECTORY
            todo += [os.path.join(path, name) for name in names]  # noqa: PTH118

    def _one(self, path: str) -> Iterator[tuple[str, Stamp]]:
        """A file, or a directory with what is directly in it."""
        stamp, status = _stamp(path)
        if status is None or not stat.S_ISDIR(status.st_mode):
            yield path, stamp
            return
        try:
            names = os.listdir(path)  # noqa: PTH208
        except OSError as error:
            yield path, (error.errno or 0,)
            return
        yield path, _DIRECTORY
        for name in names:
            entry = os.path.join(path, name)  # noqa: PTH118
            if entry not in self.ours:
                yield entry, _stamp(entry)[0]


def _stamp(path: str) -> tuple[Stamp, os.stat_result | None]:
    try:
        found = os.stat(path)  # noqa: PTH116 - called for every file at every look
    except FileNotFoundError:
        return (), None
    except OSError as error:
        return (error.errno or 0,), None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino), found


def _first_look(stamp: Stamp, *, new: bool) -> _Seen:
    """A state that this look found first; nobody writes into a directory or what is not there."""
    now = time.monotonic()
    if len(stamp) < _OF_FILE:
        return _Seen(stamp, -float("inf"))
    if not new:
        return _Seen(stamp, now)
    _, modified, changed, _ = stamp
    return _Seen(stamp, now - max(0.0, time.time() - max(modified, changed) / 1e9))
