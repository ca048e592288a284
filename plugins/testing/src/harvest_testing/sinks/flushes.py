"""What of a commit is on the disk: a power cut may take whatever was not flushed.

``os.fsync`` is heard while it is watched.  Of each file it is kept how long it was and when it was
last written when it was flushed, of each directory which names it had; so what was written or named
after that is known to be at risk, whatever the order of the calls was.

A library that writes files by itself may flush them by itself, which is not heard.  Such files are
``unheard``, unless Python flushed them, too.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import attrs

from harvest_testing.kits import Switch

_Content: TypeAlias = tuple[int, int]
_Names: TypeAlias = frozenset[tuple[str, int]]


@attrs.define
class Flushes:
    """Which changes of the files below a directory are flushed.

    but: a directory below it whose files others flush before they are moved (staging).
    """

    directory: Path
    but: Path
    _contents: dict[int, _Content] = attrs.field(factory=dict)  # by inode, as they were flushed
    _names: dict[int, _Names] = attrs.field(factory=dict)
    _written: set[int] = attrs.field(factory=set)  # inodes of files that Python opened for writing

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Hear what is flushed in this block; what is there at its begin counts as flushed."""
        for path, entry in self._walk():
            self._note(entry, path)
        switch = Switch(lambda *_: self._opened(switch))
        with contextlib.ExitStack() as stack:
            for name in {"fsync", "fdatasync"} & set(dir(os)):
                flushing = self._heard(getattr(os, name))
                stack.enter_context(mock.patch.object(os, name, flushing))
            stack.enter_context(switch.armed())
            yield
        self._opened(switch)

    def at_risk(self) -> tuple[list[str], list[str]]:
        """What a power cut may take, in words; and files of which this is unheard."""
        lost, unheard = [], []
        for path, entry in self._walk():
            if path.is_relative_to(self.but):
                continue
            if stat.S_ISDIR(entry.st_mode):
                known = self._names.get(entry.st_ino, frozenset())
                lost += [
                    f"the name {name!r} in {path}" for name, _ in sorted(_names_in(path) - known)
                ]
            elif self._contents.get(entry.st_ino) != _content(entry):
                if entry.st_ino in self._written:
                    lost.append(f"the content of {path}")
                else:
                    unheard.append(str(path))
        return lost, unheard

    def _walk(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in (self.directory, *sorted(self.directory.rglob("*"))):
            yield path, path.lstat()

    def _heard(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        def flushing(file: Any) -> None:
            original(file)
            number = file if isinstance(file, int) else file.fileno()
            self._note(os.fstat(number), number)

        return flushing

    def _note(self, entry: os.stat_result, file: Path | int) -> None:
        if stat.S_ISDIR(entry.st_mode):
            self._names[entry.st_ino] = _names_in(file)
        else:
            self._contents[entry.st_ino] = _content(entry)

    def _opened(self, switch: Switch) -> None:
        """Know the files that were opened for writing before they are called otherwise."""
        for path in switch.opened:
            with contextlib.suppress(OSError):
                self._written.add(Path(path).stat().st_ino)


def _content(entry: os.stat_result) -> _Content:
    return entry.st_size, entry.st_mtime_ns


def _names_in(directory: Path | int) -> _Names:
    with os.scandir(directory) as entries:
        return frozenset((entry.name, entry.inode()) for entry in entries)
