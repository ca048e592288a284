"""Finding out whether an input has changed, without reading all of it.

What the system says of a file (its inode, size, times) is asked first: where that is as it was, the
file is unchanged and is not opened.  Where it differs, or is too new to be relied on, the
fingerprint decides.

A local disk answers immediately, and what such calls take is the interpreter's own time, of which
threads need twice as much.  A file system on the network takes its time for each answer, and gives
many at the same time: there threads ask.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from harvest.errors import out_of_files

SAMPLE_BYTES = 4_096
"""Bytes hashed at the head and at the tail of a file."""

SETTLED_NS = 2_000_000_000
"""A file that changed later than this ago may change again without another time."""


def facts(paths: Iterable[str]) -> bytes | None:
    """A digest of path, device, inode, size and times of files; 16 bytes.

    None where these do not show a change: without a path, with one that is not a file or cannot be
    reached, or one that has just changed.
    """
    digest = None
    latest = time.time_ns() - SETTLED_NS
    for name in paths:
        try:
            found = os.stat(name)  # noqa: PTH116 - of a million paths
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode) or max(found.st_mtime_ns, found.st_ctime_ns) > latest:
            return None
        digest = digest or hashlib.blake2b(digest_size=16)
        text = f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"
        digest.update(os.fsencode(f"{name}\0{text} {found.st_ctime_ns}\0"))
    return digest and digest.digest()


def fingerprint(paths: Iterable[str]) -> str:
    """A digest of path, size, modification time, head and tail of each file.

    A file that cannot be opened takes part with the kind of its error, so that a later change of
    permissions is a change.  A directory takes part with the names and times of what is in it.
    """
    digest = hashlib.sha256()
    for name in paths:
        digest.update(os.fsencode(name) + b"\0")
        digest.update(_facts(name))
    return digest.hexdigest()


def _facts(name: str) -> bytes:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                return _entries(name)
            head = os.pread(descriptor, SAMPLE_BYTES, 0)
            tail = os.pread(descriptor, SAMPLE_BYTES, max(0, status.st_size - SAMPLE_BYTES))
        finally:
            os.close(descriptor)
    except OSError as error:
        if out_of_files(error):  # which says nothing of this file
            raise
        return f"error {error.errno}".encode()
    sample = hashlib.sha256(head + b"\0" + tail).hexdigest()
    return f"{status.st_size} {status.st_mtime_ns} {sample}".encode()


def _entries(name: str) -> bytes:
    entries = sorted(os.scandir(name), key=lambda e: e.name)
    names = [f"{e.name}\0{e.stat(follow_symlinks=False).st_mtime_ns}" for e in entries]
    return os.fsencode("dir\n" + "\n".join(names))


THREADS: Final = 16
FIRST: Final = 256
"""Calls that show whether they wait."""

_CHUNK: Final = 64
_WAITING: Final = 5
"""Calls wait when they take so many times the CPU time that they need."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def map_waiting(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """What a function returns for each item, in their order; raises what it raises."""
    start, start_cpu = time.perf_counter(), time.thread_time()
    results = [function(item) for item in items[:FIRST]]
    waits = time.perf_counter() - start > _WAITING * (time.thread_time() - start_cpu)
    rest = items[FIRST:]
    if not (waits and rest):
        return [*results, *map(function, rest)]

    def call(at: int) -> list[_Result]:
        return [function(item) for item in rest[at : at + _CHUNK]]

    with ThreadPoolExecutor(THREADS) as pool:
        for some in pool.map(call, range(0, len(rest), _CHUNK)):
            results += some
    return results
