"""Files of a directory, names that nobody expects, and every step by which files change."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ODD = (
    "with space",
    'it\'s "quoted"',
    "new\nline",
    "glob[1]*?{a,b}",
    "100%25 #1",
    "-o rm; $(x) `y`",
    "Zürich 東京 🙂",
    "combining e\u0301",
    "~root",
    "back\\slash $HOME",
    "a:b@c=d&e,f;",
    "long" * 50,
    os.fsdecode(b"no utf-8 \xff\xfe"),
)


def odd_names(directory: Path) -> Iterator[str]:
    """Those of them that the file system of a directory takes; each directory is made."""
    for name in ODD:
        with contextlib.suppress(OSError, UnicodeEncodeError):
            (directory / name).mkdir()
            yield name


def differing(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Names of what one side alone has, or has otherwise."""
    names = one.keys() | other.keys()
    return ", ".join(sorted(n for n in names if one.get(n, ...) != other.get(n, ...)))


def files_below(directory: Path, *, but: Path | None = None) -> dict[str, bytes]:
    """Path and content of all files below a directory, leaving out those below ``but``."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not (but is not None and path.is_relative_to(but))
    }


_NAMES = frozenset(
    ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate")
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_active = threading.local()
_hooked = False


class Switch:
    """Calls ``before`` with the number (from 1) and the name of each step.

    What the callback itself does does not count as a step.

    opened: the paths that were opened for writing.
    """

    def __init__(self, before: Callable[[int, str], None]):
        self.before = before
        self.steps = 0
        self.opened: set[str] = set()
        self._busy = False

    @contextlib.contextmanager
    def armed(self) -> Iterator[None]:
        """Hear of what happens in this block."""
        _hook()
        _active.switch = self
        try:
            yield
        finally:
            _active.switch = None

    def step(self, what: str) -> None:
        """A step is about to be taken."""
        if self._busy:
            return
        self._busy = True
        try:
            self.steps += 1
            self.before(self.steps, what)
        finally:
            self._busy = False


def spread(steps: int, most: int) -> list[int]:
    """Numbers of steps, at most so many, from the first to the last."""
    count = min(most, steps)
    return [1 + round(n * (steps - 1) / max(1, count - 1)) for n in range(count)]


def _hook() -> None:
    """Hear of all steps from now on; hooks cannot be taken out again."""
    global _hooked
    if not _hooked:
        sys.addaudithook(_heard)
        _hooked = True


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    switch: Switch | None = getattr(_active, "switch", None)
    if switch is None:
        return
    if event in _NAMES:
        switch.step(f"{event} {arguments[0]!r}")
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
        if not isinstance(arguments[0], int):
            switch.opened.add(os.fsdecode(arguments[0]))
        switch.step(f"open {arguments[0]!r} for writing")
