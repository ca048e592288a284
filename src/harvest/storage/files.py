"""Files of a dataset: directories that survive a power cut, and paths that stay inside.

A manifest names only files inside its dataset: plain names, relative paths, no links. Anyone who
can write into a dataset's directory can forge its manifest, including the checksum. A forged
manifest must not lead reading, repair or rollback to files elsewhere.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from harvest.toolkit.files import fsync_directory
from harvest.toolkit.plain import ASIDE, DOCUMENT_BYTES, what_else


def make_directories(path: Path) -> None:
    """Make a directory and its missing parents; flush each entry to disk."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for directory in reversed(missing):
        fsync_directory(directory.parent)


_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.+=-]{0,254}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def is_name(text: str) -> bool:
    """Return whether a text is the plain name of one file: no path, not hidden."""
    return _NAME.fullmatch(text) is not None


def is_digest(text: str) -> bool:
    """Return whether a text is a SHA-256 checksum in hexadecimal."""
    return _DIGEST.fullmatch(text) is not None


def is_inside(path: str) -> bool:
    """Return whether a path is relative and stays below its base directory."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\0" not in path


def link_on_the_way(base: Path, path: str) -> Path | None:
    """Return the first symbolic link on the way from ``base`` to ``path``, ``base`` excluded."""
    for part in PurePosixPath(path).parts:
        base = base / part
        if base.is_symlink():
            return base
    return None


_FLAT: Final = frozenset(("copies", "history", "kept", "rejects", "runs", "segments"))
"""Subdirectories of a state directory that contain only files."""

_FILES: Final = ("lock", "manifest.json")


def in_place_of_files(state: Path, *, top: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield each entry of a state directory that has the wrong kind, and the kind found.

    A link instead of a directory may be the user's own: ``refuse_links`` checks it. Nobody makes a
    link named ``aside``, so such a link is yielded.
    top: check only the entries directly in the directory, including the lock.
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
