"""The watched files: their state, since when, and their state at the last round.

This machine's clock, from one check to the next, decides whether a file is at rest. The file
system's times are used only when a file is first seen: a file that was changed long ago need not be
checked twice. A wrong clock makes a file wait, or lets it be read while it is written, which a run
detects by itself.
"""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import attrs

from harvest import Sink

Stamp = tuple[int, ...]
"""Size, modification and change time, inode; one number for an error; empty for a missing file."""

_GONE: Stamp = ()
_DIRECTORY: Stamp = (-1,)
_OF_FILE = 4


def within(path: str, directory: str) -> bool:
    """Return whether a path is the directory or is below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


class Ours:
    """The places that a watch writes to, if they are below the watched roots."""

    def __init__(self, sinks: Iterable[Sink], roots: Sequence[str]):
        spelled = {*roots, *map(os.path.realpath, roots)}
        places = set()
        for sink in sinks:
            location = os.path.abspath(os.path.expanduser(sink.location))  # noqa: PTH100, PTH111
            if any(within(location, root) and location != root for root in spelled):
                places.add(location)
            places.add(os.path.abspath(sink.state))  # noqa: PTH100
        self.places = tuple(sorted({*places, *map(os.path.realpath, places)}))

    def __contains__(self, path: str) -> bool:
        return any(within(path, place) for place in self.places)


@attrs.frozen
class _Waiting:
    """State, at the last check, of a file that changed since the last round.

    since: when this state was first seen; pending: when it first differed (both monotonic times).
    """

    stamp: Stamp
    since: float
    pending: float


@attrs.define(eq=False)
class Inputs:
    """The files below some roots, and other files that sources name.

    roots: absolute paths of files or directories, which need not exist; ours: paths to leave out;
    settle_s: seconds that a file must be unchanged to count as at rest.
    enters: returns the function that selects directories to enter, None for all;
        called again for each check of everything.
    """

    roots: Sequence[str]
    ours: Ours
    settle_s: float = attrs.field(kw_only=True)
    enters: Callable[[], Callable[[str], bool] | None] = lambda: None
    _wanted: Callable[[str], bool] | None = None
    _others: frozenset[str] = frozenset()
    # state of the files at the last round
    _taken: dict[str, Stamp] = attrs.field(factory=dict)
    _waiting: dict[str, _Waiting] = attrs.field(factory=dict)
    _failed: set[str] = attrs.field(factory=set)

    def look(self) -> bool:
        """Check all files; return whether any changed since the previous check."""
        self._wanted = self.enters()
        visited: set[tuple[int, int]] = set()
        trees = (self._tree(root, visited) for root in self.roots)
        found = dict(chain(*trees, *map(self._one, self._others)))
        changed = self._see(found)
        return self._see(self._missing_in(found)) or changed

    def look_at(self, paths: Iterable[str]) -> bool:
        """Check these files and the waiting ones; return whether any changed since last seen.

        For a directory, everything below it is checked.
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
            waiting = self._waiting.get(path)
            if (waiting.stamp if waiting else self._taken.get(path)) == _DIRECTORY:
                below |= self._missing_in(below, path)
            found |= below
        return self._see(found)

    def pending(self) -> Iterator[str]:
        """Return the files that differ from their state at the last round."""
        return iter(self._waiting)

    def are_gone(self) -> bool:
        """Return whether any pending file no longer exists."""
        return any(waiting.stamp == _GONE for waiting in self._waiting.values())

    def to_read(self) -> set[str] | None:
        """Return the files of the next round, with missing ones; None if all must be listed.

        All must be listed if a directory cannot be listed, or if a file is outside the roots or
        behind a linked directory: such a file may be an input by another path, or part of one.
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
        """Return whether a directory is in a root, with no link between them."""
        while folder not in self.roots:
            above = os.path.dirname(folder)  # noqa: PTH120
            if above == folder or os.path.islink(folder):  # noqa: PTH114
                return False
            folder = above
        return True

    def due_at(self, patience_s: float) -> float | None:
        """Return when the first pending file may be read, by the monotonic clock; None if none is.

        A file may be read when it is at rest, or after ``patience_s`` seconds of pending.
        """
        times = (
            min(waiting.since + self.settle_s, waiting.pending + patience_s)
            for waiting in self._waiting.values()
        )
        return min(times, default=None)

    def leave(self, named: Iterable[str], patience_s: float, *, whole: bool = True) -> set[str]:
        """Return the files to leave to a later round.

        named: files that the sources will read; whole: whether these are all files they know. Files
        that no check has found (new, or elsewhere) are checked here and in every later check.
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
        """Mark all pending files as read in the state last seen, except those in ``left``."""
        left = frozenset(left)
        for path in [path for path in self._waiting if path not in left]:
            stamp = self._waiting.pop(path).stamp
            if stamp == _GONE:
                self._taken.pop(path, None)
            else:
                self._taken[path] = stamp

    def read_too(self, failed: Iterable[str], *, instead_of: set[str]) -> None:
        """Include files that could not be read in the next round, whenever it is.

        instead_of: all files of the current round, which replace earlier failures.
        """
        self._failed = (self._failed - instead_of).union(failed)

    def read_again(self, paths: Iterable[str]) -> None:
        """Mark files to be read again, even if they are unchanged."""
        now = time.monotonic()
        for path in paths:
            stamp = self._taken.pop(path, _GONE)
            if stamp != _GONE:
                self._waiting.setdefault(path, _Waiting(stamp, -float("inf"), now))

    def _see(self, found: Mapping[str, Stamp]) -> bool:
        """Record the current state of files; return whether any changed since last seen."""
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
            since = now
            if len(stamp) < _OF_FILE:  # directories and missing files are always at rest
                since = -float("inf")
            elif before == _GONE:
                _, written, altered, _ = stamp
                since = now - max(0.0, time.time() - max(written, altered) / 1e9)
            pending = now if waiting is None else waiting.pending
            self._waiting[path] = _Waiting(stamp, since, pending)
        return changed

    def _missing_in(self, found: Mapping[str, Stamp], directory: str = "/") -> dict[str, Stamp]:
        """Return the known files of a directory that were not found, marked as missing."""
        known = chain(self._taken, self._waiting)
        return {path: _GONE for path in known if path not in found and within(path, directory)}

    def _is_known(self, path: str) -> bool:
        return path in self._taken or path in self._waiting

    def is_in_root(self, path: str) -> bool:
        """Return whether a path is a root or is below one, as roots are spelled."""
        return any(within(path, root) for root in self.roots)

    def _enters(self, directory: str) -> bool:
        return self._wanted is None or directory in self.roots or self._wanted(directory)

    def _is_below(self, path: str) -> bool:
        """Return whether a check of the roots would find the path."""
        if path in self.ours:
            return False
        for root in self.roots:
            if within(path, root):
                above = [path]
                while len(above[-1]) > len(root):
                    above.append(os.path.dirname(above[-1]))  # noqa: PTH120
                return all(map(self._enters, above[1:]))
        return False

    def _tree(self, root: str, visited: set[tuple[int, int]]) -> Iterator[tuple[str, Stamp]]:
        """Yield every file and directory below a root, with links followed, directories once."""
        todo = [root]
        while todo:
            path = todo.pop()
            if path in self.ours:
                continue
            stamp, status = _stamp(path)
            if status is None or not stat.S_ISDIR(status.st_mode):
                yield path, stamp
                continue
            identity = (status.st_dev, status.st_ino)
            if identity in visited or not self._enters(path):
                continue
            visited.add(identity)
            stamp, entries = _listed(path)
            yield path, stamp
            todo += entries

    def _one(self, path: str) -> Iterator[tuple[str, Stamp]]:
        """Yield a file, or a directory and its direct entries."""
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
    """Return a directory's stamp and the paths in it; an error's stamp if it cannot be listed."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 - millions of names, as text
    except OSError as error:
        return (error.errno or 0,), []
    return _DIRECTORY, [os.path.join(directory, name) for name in names]  # noqa: PTH118
