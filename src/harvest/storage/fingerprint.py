"""Detect whether an input has changed, without reading all of it.

The file's metadata (inode, size, times) is compared first. If the metadata is unchanged, so is the
file, and it is not opened. If the metadata differs, or is too recent to be reliable, the
fingerprint decides.

A local disk answers immediately: the calls then cost interpreter time, and threads would double it.
A network file system answers each call slowly, but many calls at the same time: there, threads make
the calls.
"""

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
"""Age, in ns, below which a file may change again without getting a new time stamp."""


def facts(paths: Iterable[str]) -> bytes | None:
    """Return a 16-byte digest of path, device, inode, size and times of files.

    Returns None where the metadata cannot prove that nothing changed: no paths, a path that is not
    a regular file or is unreachable, or a file that has just changed.
    """
    digest = None
    latest = time.time_ns() - SETTLED_NS
    for name in paths:
        try:
            found = os.stat(name)  # noqa: PTH116 - fast enough for a million paths
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode) or max(found.st_mtime_ns, found.st_ctime_ns) > latest:
            return None
        digest = digest or hashlib.blake2b(digest_size=16)
        text = f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"
        digest.update(os.fsencode(f"{name}\0{text} {found.st_ctime_ns}\0"))
    return digest and digest.digest()


def fingerprint(paths: Iterable[str]) -> str:
    """Return a digest of path, size, modification time, head and tail of each file.

    A file that cannot be opened contributes its error number: a later change of permissions is a
    change. A directory contributes the names and times of its entries.
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
        if out_of_files(error):  # not a property of this file
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
"""Number of first calls, which are timed to see whether calls wait for the file system."""

_CHUNK: Final = 64
_WAITING: Final = 5
"""Calls count as waiting if their elapsed time exceeds this multiple of their CPU time."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def map_waiting(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """Apply a function to each item, in threads if calls wait; return the results in order."""
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
