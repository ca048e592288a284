"""List files, make odd names, and interrupt code at one of its file operations."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

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
    """Make a subdirectory for each odd name that the file system accepts; yield the names."""
    for name in ODD:
        with contextlib.suppress(OSError, UnicodeEncodeError):
            (directory / name).mkdir()
            yield name


def differing(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the keys whose values differ or that only one side has, as text."""
    names = one.keys() | other.keys()
    return ", ".join(sorted(n for n in names if one.get(n, ...) != other.get(n, ...)))


def files_below(directory: Path, *, but: Path | None = None) -> dict[str, bytes]:
    """Return relative path -> content of all files below a directory, but not below ``but``."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not (but is not None and path.is_relative_to(but))
    }


STEPS = ("rename", "replace", "remove", "unlink", "rmdir", "mkdir", "link", "symlink", "truncate")
"""Functions of ``os`` that create, move, remove or truncate files: the operations counted."""


class CutShort(BaseException):
    """Ends a block before one of its file operations."""


@contextlib.contextmanager
def cut_short(at: int) -> Iterator[list[str]]:
    """End the block before file operation number ``at``, from 1; yield the operations so far."""
    steps: list[str] = []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **how: Any) -> Any:
            steps.append(f"os.{name} {arguments[0]!r}")
            if len(steps) == at:
                raise CutShort
            return function(*arguments, **how)

        return step

    with contextlib.ExitStack() as patches, contextlib.suppress(CutShort):
        for name in STEPS:
            step = counted(name, getattr(os, name))
            patches.enter_context(mock.patch.object(os, name, step))
        yield steps
