"""The files that are watched: how they are, since when, and how the last round found them.

Whether a file rests is decided by this machine's clock from one look to the next.  The times that
the file system gives are used once, when a file is first seen: one that was last changed long ago
need not be looked at twice.  A clock that is wrong makes a file wait, or be read while it is
written, which a run notices by itself.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import attrs

from harvest import Sink

Stamp = tuple[int, ...]
"""Size, modification and change time, inode; one number for an error; nothing if it is gone."""

_GONE: Stamp = ()
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
class _Waiting:
    """How the last look found a file that is not as the last round found it.

    since: when it was first seen so; pending: when it first differed (by the monotonic clock).
    """

    stamp: Stamp
    since: float
    pending: float


class Inputs:
    """The files below some roots, and others that sources named.

    roots: absolute paths of files or directories, there or not; ours: what is left out;
    settle_s: how long a file must not have changed to count as resting.
    enters: whether a directory is looked into, None where all are; asked for
        again for each look at all.
    """

    def __init__(
        self,
        roots: Sequence[str],
        ours: Ours,
        *,
        settle_s: float,
        enters: Callable[[], Callable[[str], bool] | None] = lambda: None,
    ):
        self.roots = tuple(dict.fromkeys(roots))
        self.ours = ours
        self.settle_s = settle_s
        self._ask = enters
        self._wanted = enters()
        self._others: frozenset[str] = frozenset()
        # how the last round found the files that there were
        self._taken: dict[str, Stamp] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._failed: set[str] = set()

    def look(self) -> bool:
        """See how every file is now; whether any is not as the look before saw it."""
        self._wanted = self._ask()
        found = dict(self._survey())
        changed = self._see(found)
        return self._see(self._missing_in(found)) or changed

    def look_at(self, paths: Iterable[str]) -> bool:
        """See how these are now, and those that wait; whether any is not as seen before.

        Of a directory, all that is below it is seen.
        """
        found = {
            path: _stamp(path)[0]
            for path, waiting in self._waiting.items()
            if len(waiting.stamp) == _OF_FILE
        }
        for path in self._others:
            found |= self._one(path)
        for path in filter(self._is_below, paths):
            below = dict(self._tree(path, set()))
            if self._stamp_of(path) == _DIRECTORY:
                below |= self._missing_in(below, path)
            found |= below
        return self._see(found)

    def pending(self) -> Iterator[str]:
        """Files that are not as the last round found them."""
        return iter(self._waiting)

    def are_gone(self) -> bool:
        """Whether some of them are there no more."""
        return any(waiting.stamp == _GONE for waiting in self._waiting.values())

    def to_read(self) -> set[str] | None:
        """The files of the next round, gone ones too; None where only a listing of all shows them.

        So it is where a directory cannot be listed, and where a file lies outside the roots or
        behind a linked directory: it may be an input by another path, or belong to one.
        """
        files = set(self._failed)
        for path, waiting in self._waiting.items():
            if waiting.stamp == _GONE or len(waiting.stamp) == _OF_FILE:
                files.add(path)
            elif waiting.stamp != _DIRECTORY:
                return None
        folders = {os.path.dirname(path) for path in files if path not in self.roots}  # noqa: PTH120
        return files if all(map(self._is_direct, folders)) else None

    def _is_direct(self, folder: str) -> bool:
        """Whether a root is reached from a directory without a link on the way."""
        while folder not in self.roots:
            above = os.path.dirname(folder)  # noqa: PTH120
            if above == folder or os.path.islink(folder):  # noqa: PTH114
                return False
            folder = above
        return True

    def due_at(self, patience_s: float) -> float | None:
        """When some file that is pending may be read, by the monotonic clock; None if none is.

        It may when it rests, or when it was pending for ``patience_s``.
        """
        times = (
            min(waiting.since + self.settle_s, waiting.pending + patience_s)
            for waiting in self._waiting.values()
        )
        return min(times, default=None)

    def leave(self, named: Iterable[str], patience_s: float, *, whole: bool = True) -> set[str]:
        """The files that are to be left to a later round.

        named: what the sources are going to read; whole: and all they know.  What no look has
        found, since it came later or lies elsewhere, is seen here and looked at from now on.
        """
        others = frozenset(
            path
            for path in named
            if (path in self._others or not self._is_known(path)) and path not in self.ours
        )
        self._others = others if whole else others | self._others
        for path in others:
            self._see({p: stamp for p, stamp in self._one(path) if not self._is_known(p)})
        now = time.monotonic()
        return {
            path
            for path, waiting in self._waiting.items()
            if waiting.since + self.settle_s > now and now - waiting.pending < patience_s
        }

    def take(self, left: Iterable[str]) -> None:
        """What the last look saw has been read, but for these files."""
        left = frozenset(left)
        for path in [path for path in self._waiting if path not in left]:
            stamp = self._waiting.pop(path).stamp
            if stamp == _GONE:
                self._taken.pop(path, None)
            else:
                self._taken[path] = stamp

    def read_too(self, failed: Iterable[str], *, instead_of: set[str]) -> None:
        """These files could not be read, and are read again in the next round, whenever it is.

        instead_of: all that the round was about.
        """
        self._failed = (self._failed - instead_of).union(failed)

    def read_again(self, paths: Iterable[str]) -> None:
        """These files are to be read again, however they are."""
        now = time.monotonic()
        for path in paths:
            stamp = self._taken.pop(path, _GONE)
            if stamp != _GONE:
                self._waiting.setdefault(path, _Waiting(stamp, -float("inf"), now))

    def _see(self, found: Mapping[str, Stamp]) -> bool:
        """Take note of how files are now; whether any is not as seen before."""
        now = time.monotonic()
        changed = False
        for path, stamp in found.items():
            waiting = self._waiting.get(path)
            taken = self._taken.get(path, _GONE)
            before = taken if waiting is None else waiting.stamp
            if stamp == before:
                continue
            changed = True
            if stamp == taken:
                del self._waiting[path]
                continue
            since = _first_seen(stamp, now, new=before == _GONE)
            pending = now if waiting is None else waiting.pending
            self._waiting[path] = _Waiting(stamp, since, pending)
        return changed

    def _missing_in(self, found: Mapping[str, Stamp], directory: str = "/") -> dict[str, Stamp]:
        """The known files of a directory that are not found, as gone."""
        known = chain(self._taken, self._waiting)
        return {path: _GONE for path in known if path not in found and within(path, directory)}

    def _stamp_of(self, path: str) -> Stamp:
        waiting = self._waiting.get(path)
        return self._taken.get(path, _GONE) if waiting is None else waiting.stamp

    def _is_known(self, path: str) -> bool:
        return path in self._taken or path in self._waiting

    def is_in_root(self, path: str) -> bool:
        """Whether it is a root or lies below one, as roots are spelled."""
        return any(within(path, root) for root in self.roots)

    def _enters(self, directory: str) -> bool:
        return self._wanted is None or directory in self.roots or self._wanted(directory)

    def _is_below(self, path: str) -> bool:
        """Whether a look at everything would see it."""
        if path in self.ours:
            return False
        for root in self.roots:
            if within(path, root):
                above = [path]
                while len(above[-1]) > len(root):
                    above.append(os.path.dirname(above[-1]))  # noqa: PTH120
                return all(map(self._enters, above[1:]))
        return False

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
            if not self._enters(path):
                continue
            visited.add((status.st_dev, status.st_ino))
            stamp, entries = _listed(path)
            yield path, stamp
            todo += entries

    def _one(self, path: str) -> Iterator[tuple[str, Stamp]]:
        """A file, or a directory with what is directly in it."""
        stamp, status = _stamp(path)
        if status is None or not stat.S_ISDIR(status.st_mode):
            yield path, stamp
            return
        stamp, entries = _listed(path)
        yield path, stamp
        for entry in entries:
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


def _listed(directory: str) -> tuple[Stamp, list[str]]:
    """How a directory is, and the paths in it, as far as it can be listed."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 - millions of names, as text
    except OSError as error:
        return (error.errno or 0,), []
    return _DIRECTORY, [os.path.join(directory, name) for name in names]  # noqa: PTH118


def _first_seen(stamp: Stamp, now: float, *, new: bool) -> float:
    """Since when a file is as this look found it; nobody writes to a directory or what is gone."""
    if len(stamp) < _OF_FILE:
        return -float("inf")
    if not new:
        return now
    _, modified, changed, _ = stamp
    return now - max(0.0, time.time() - max(modified, changed) / 1e9)
