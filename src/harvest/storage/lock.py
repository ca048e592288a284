"""The lock that lets one run at a time write to a dataset.

The lock is a kernel lock (``flock``): it is released when its holder dies, for whatever reason.
Some file systems lack such locks (NFS without its lock service, Lustre mounted without ``flock``).
There, the lock is a numbered file, created exclusively: the holder of the highest number has the
lock. Numbers are never reused, so taking over from a dead holder cannot take the lock from a living
one.

On one machine the kernel knows whether a process lives. For a process elsewhere, or on a system
without ``/proc`` (macOS), only its heartbeat is known. The process touches its lock file every
``BEAT_S`` seconds, and counts as dead when the file is older than ``STALE_S``. Ages are measured by
the file system's clock, since the clocks of two machines may differ.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import attrs
import cattrs
import orjson

from harvest import fault, interrupt
from harvest.errors import DatasetError
from harvest.toolkit.plain import DOCUMENT_BYTES, read_plain, require_plain

BEAT_S = 10.0
STALE_S = 60.0
_NO_LOCKS = frozenset((errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL))
_POLL_S = 0.5
_FREE = b"free"


_open: set[int] = set()
"""File descriptors of the locks that this process holds."""


def _let_go() -> None:
    """Close inherited lock descriptors after a fork; an open one would keep the lock held."""
    while _open:
        os.close(_open.pop())


os.register_at_fork(after_in_child=_let_go)


class Busy(DatasetError):
    """Another process holds the lock."""


@contextlib.contextmanager
def locked(state: Path, *, wait_s: float = 0) -> Iterator[Lock]:
    """Hold the dataset's lock; wait for it up to ``wait_s`` seconds, then raise Busy."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            lock = _acquire(state)
            break
        except Busy:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            interrupt.sleep(min(_POLL_S, left))
    try:
        with interrupt.orderly():
            yield lock
    finally:
        lock.release()


def holder(state: Path) -> Holder | None:
    """Return the process that holds the lock, as far as a reader can know, or None.

    Does not test the kernel lock: during the test, a writer would find it taken.
    """
    _, lease = _newest(state)
    for path in filter(None, (state / "lock", lease)):
        with contextlib.suppress(FileNotFoundError, DatasetError):  # no file
            known = Holder.parse(read_plain(path))
            if known is not None and known.lives(path):
                return known
    return None


def _acquire(state: Path) -> Lock:
    path = state / "lock"
    require_plain(path, DOCUMENT_BYTES)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        try:
            fault.point("lock.flock")
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
                raise _busy(state, Holder.parse(os.pread(descriptor, 4096, 0))) from None
            if error.errno not in _NO_LOCKS:
                raise
            lock = _lease(state)
            os.close(descriptor)
            return lock
        return _kernel_lock(state, path, descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _kernel_lock(state: Path, path: Path, descriptor: int) -> Lock:
    known = Holder.parse(os.pread(descriptor, 4096, 0))
    # on some file systems, locks are local to each machine
    if known is not None and not known.same_kernel() and _age_s(path) < STALE_S:
        raise _busy(state, known, path)
    record = Holder.me().record()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, record, 0)
    _open.add(descriptor)

    def held() -> bool:
        return os.pread(descriptor, 4096, 0) == record

    def release() -> None:
        if held():
            os.ftruncate(descriptor, 0)
        _open.remove(descriptor)
        os.close(descriptor)

    return Lock(state, path, held, release)


def _lease(state: Path) -> Lock:
    record = Holder.me().record()
    while True:
        number, path = _newest(state)
        if path is not None:
            _require_free(state, path)
        mine = state / f"lock-{number + 1:08d}"
        if not _create(mine, record):
            continue  # another process was faster
        if _newest(state)[0] != number + 1:
            mine.unlink(missing_ok=True)  # the holder of the higher number removes lower ones
            continue
        for other in state.glob("lock-*"):
            if other.name < mine.name:
                other.unlink(missing_ok=True)
        break

    def held() -> bool:
        return _newest(state) == (number + 1, mine)

    def release() -> None:
        # the file stays, so that the next number is higher
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(mine, os.O_WRONLY | os.O_TRUNC)
            os.write(descriptor, _FREE)
            os.close(descriptor)

    return Lock(state, mine, held, release)


def _newest(state: Path) -> tuple[int, Path | None]:
    found = sorted(path for path in state.glob("lock-*") if path.name[5:].isdigit())
    return (int(found[-1].name[5:]), found[-1]) if found else (0, None)


def _require_free(state: Path, path: Path) -> None:
    try:
        data = read_plain(path)
        known = Holder.parse(data)
        dead = known is not None and known.known_dead()
        if data == _FREE or dead or _age_s(path) >= STALE_S:
            return
    except FileNotFoundError:  # a newer lock file replaced it
        return
    raise _busy(state, known, path)


def _create(path: Path, record: bytes) -> bool:
    """Create a file with this content if none exists; return whether it was created."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    temporary.write_bytes(record)
    try:
        # an exclusive open can succeed twice over NFS; a hard link cannot
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            return False
        os.write(descriptor, record)
        os.close(descriptor)
    finally:
        temporary.unlink()
    return True


def _busy(state: Path, known: Holder | None, path: Path | None = None) -> Busy:
    remedy = "wait for it to end, or let --wait SECONDS do it"
    if path is not None:
        remedy += f"; a lock is free {STALE_S:.0f} s after its last sign of life"
    problem = f"another run is writing this dataset ({known or 'holder unknown'})"
    return Busy(problem, where=str(state), remedy=remedy)


class Lock:
    """A held lock; a thread touches its file regularly until it is released."""

    def __init__(
        self, state: Path, path: Path, held: Callable[[], bool], release: Callable[[], None]
    ):
        self._state = state
        self._path = path
        self._held = held
        self._release = release
        self._done = threading.Event()
        self._beat = threading.Thread(target=self._give_signs, daemon=True)
        self._beat.start()

    def _give_signs(self) -> None:
        while not self._done.wait(BEAT_S):
            # a failed touch counts as a missing heartbeat, which other processes evaluate
            with contextlib.suppress(OSError):
                os.utime(self._path)

    def check(self) -> None:
        """Raise DatasetError if another run took over the lock; called before each commit."""
        if not self._held():
            raise DatasetError(
                "another run took over this dataset, since this one gave no sign of life for "
                f"{STALE_S:.0f} s",
                where=str(self._state),
                remedy="nothing more was committed; run again",
            )

    def release(self) -> None:
        self._done.set()
        self._beat.join()
        self._release()


@attrs.frozen(kw_only=True)
class Holder:
    """A process that holds a lock.

    boot: boot id of the kernel; space: process id namespace; started: start time in kernel ticks.
    """

    host: str
    boot: str
    space: str
    pid: int
    started: str
    since: str

    @classmethod
    def me(cls) -> Holder:
        return cls(
            host=socket.gethostname(),
            boot=_text("/proc/sys/kernel/random/boot_id"),
            space=_space(),
            pid=os.getpid(),
            started=_start_of(os.getpid()),
            since=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        )

    @classmethod
    def parse(cls, data: bytes) -> Holder | None:
        """Parse the content of a lock file; return None if it names no valid holder."""
        try:
            return cattrs.structure(orjson.loads(data), cls)
        except (orjson.JSONDecodeError, cattrs.BaseValidationError, TypeError):
            return None

    def record(self) -> bytes:
        return orjson.dumps(attrs.asdict(self))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"

    def same_kernel(self) -> bool:
        """Return whether the process runs on this machine, in its current boot."""
        return bool(self.boot) and self.boot == Holder.me().boot

    def known_dead(self) -> bool:
        """Return whether this machine knows that the process has ended."""
        return self._is_seen() and _start_of(self.pid) != self.started

    def lives(self, path: Path) -> bool:
        """Return whether the process lives; on other machines, by the age of its lock file."""
        return not self.known_dead() if self._is_seen() else _age_s(path) < STALE_S

    def _is_seen(self) -> bool:
        """Return whether this process could see the holder if it were alive."""
        return self.same_kernel() and bool(self.space) and self.space == _space()


def _age_s(path: Path) -> float:
    """Return the seconds since a file was last touched, by its file system's clock."""
    probe = path.with_name(f".clock.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        probe.touch()
    except OSError:  # without write permission, use the local clock
        return time.time() - path.stat().st_mtime
    try:
        return probe.stat().st_mtime - path.stat().st_mtime
    finally:
        probe.unlink()


def _start_of(pid: int) -> str:
    """Return the start time of a process in ticks, or an empty text without such a process."""
    # the name, in parentheses, may contain anything; the start is the 20th field after it
    return (_text(f"/proc/{pid}/stat").rpartition(")")[2].split() + [""] * 20)[19]


def _space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
