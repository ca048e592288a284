"""What lies in a directory, before and after."""

from __future__ import annotations

from pathlib import Path


def files_below(directory: Path, *, but: Path | None = None) -> dict[str, bytes]:
    """Path and content of all files below a directory, leaving out those below ``but``."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not (but is not None and path.is_relative_to(but))
    }
