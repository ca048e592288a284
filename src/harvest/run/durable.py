"""Writing that survives a power cut: flush, rename, flush the directory."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = [
    "checksum",
    "flushed",
    "fsync_directory",
    "fsync_file",
    "make_directories",
    "write_atomically",
    "write_durably",
]

_BLOCK = 1 << 20


def flushed(path: Path) -> tuple[int, str]:
    """Flush a file's content to its device; its size in bytes, and its SHA-256 as hex."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        digest, size = hashlib.sha256(), 0
        while block := os.read(descriptor, _BLOCK):
            digest.update(block)
            size += len(block)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return size, digest.hexdigest()


def fsync_file(path: Path) -> None:
    """Flush a file's content to its device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_directory(path: Path) -> None:
    """Flush a directory's entries to its device."""
    fsync_file(path)


def make_directories(path: Path) -> None:
    """Make a directory and those above it, each durable in its parent."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for directory in reversed(missing):
        fsync_directory(directory.parent)


def write_atomically(path: Path, data: bytes | bytearray) -> None:
    """Replace ``path`` by ``data``: readers see the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def write_durably(path: Path, data: bytes) -> None:
    """Write a new file and flush its content; a power cut may still take the file's name."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def checksum(path: Path) -> str:
    """SHA-256 of a file, as hex."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
