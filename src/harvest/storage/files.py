"""Writing that survives a power cut: what the run protocol needs beside ``toolkit.files``."""

from __future__ import annotations

import os
from pathlib import Path

from harvest.toolkit.files import fsync_directory

__all__ = ["make_directories", "write_durably"]


def make_directories(path: Path) -> None:
    """Make a directory and those above it, each durable in its parent."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for directory in reversed(missing):
        fsync_directory(directory.parent)


def write_durably(path: Path, data: bytes) -> None:
    """Write a new file and flush its content; a power cut may still take the file's name."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
