"""Files of a dataset: directories that survive a power cut, and names that stay inside.

What a manifest names lies inside its dataset: plain names, relative paths, no links.  Whoever can
write into a dataset's directory can write its manifest, checksum and all.  It must not lead whoever
reads, repairs or rolls back the dataset to files elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from harvest.toolkit.files import fsync_directory
from harvest.toolkit.plain import ASIDE, DOCUMENT_BYTES, what_else


def make_directories(path: Path) -> None:
    """Make a directory and those above it, each durable in its parent."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for directory in reversed(missing):
        fsync_directory(directory.parent)


_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.+=-]{0,254}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def is_name(text: str) -> bool:
    """Whether a text is the plain name of one file: no path, nothing hidden."""
    return _NAME.fullmatch(text) is not None


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 in hex."""
    return _DIGEST.fullmatch(text) is not None


def is_inside(path: str) -> bool:
    """Whether a path is relative and stays below where it begins."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\0" not in path


def link_on_the_way(base: Path, path: str) -> Path | None:
    """The first symbolic link from ``base`` (which may be one) to the file ``path`` below it."""
    for part in PurePosixPath(path).parts:
        base = base / part
        if base.is_symlink():
            return base
    return None


_FLAT: Final = frozenset(("copies", "history", "kept", "rejects", "runs", "segments"))
"""Directories, below a state directory, of files alone."""

_FILES: Final = ("lock", "manifest.json")


def in_place_of_files(state: Path, *, top: bool = False) -> Iterator[tuple[Path, str]]:
    """What a state directory has instead of a file or directory, and what it is.

    A link to a directory in the place of one may be the user's, and is left to ``refuse_links``;
    of ``aside`` nobody has made one.
    top: just what lies directly in it, the lock among that.
    """
    for path in sorted(state.iterdir()):
        what = what_else(path, *([DOCUMENT_BYTES] if path.name == "lock" else []))
        if path.name in {*_FLAT, "staging", ASIDE}:
            if not path.is_dir() or (path.name == ASIDE and path.is_symlink()):
                yield path, f"{what or 'a file'}, in the place of a directory"
            elif path.name in _FLAT and not top and not path.is_symlink():
                found = ((each, what_else(each)) for each in sorted(path.iterdir()))
                yield from ((each, what) for each, what in found if what is not None)
        elif what is not None and (path.name in _FILES or path.is_symlink() or not path.is_dir()):
            yield path, what
