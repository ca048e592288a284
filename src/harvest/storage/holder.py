"""Who holds a lock, and whether that process can still be there.

On one machine the kernel knows whether a process lives.  Of a process elsewhere only its sign of
life is known: it touches its lock file every ``BEAT_S`` seconds, and is taken for dead when the
file is older than ``STALE_S``.  Ages are measured by the file system's own clock, since those of
two machines may differ.
"""

from __future__ import annotations

import os
import secrets
import socket
from datetime import UTC, datetime
from pathlib import Path

import attrs
import cattrs
import orjson

__all__ = ["BEAT_S", "STALE_S", "Holder", "age_s"]

BEAT_S = 10.0
STALE_S = 60.0


@attrs.frozen(kw_only=True)
class Holder:
    """A process that holds a lock.

    boot: of its machine's kernel; space: of process ids; started: its start in that kernel's ticks.
    """

    host: str
    boot: str
    space: str
    pid: int
    started: str
    since: str

    @classmethod
    def me(cls) -> Holder:
        """This process."""
        return cls(
            host=socket.gethostname(),
            boot=_text("/proc/sys/kernel/random/boot_id"),
            space=_space(),
            pid=os.getpid(),
            started=_started(os.getpid()),
            since=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        )

    @classmethod
    def parse(cls, data: bytes) -> Holder | None:
        """The holder that a lock file names; None where it names none that can be understood."""
        try:
            return cattrs.structure(orjson.loads(data), cls)
        except (orjson.JSONDecodeError, cattrs.BaseValidationError, TypeError):
            return None

    def record(self) -> bytes:
        """As it is written into a lock file."""
        return orjson.dumps(attrs.asdict(self))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"

    def same_kernel(self) -> bool:
        """Whether it ran on this machine, since its last start."""
        return bool(self.boot) and self.boot == Holder.me().boot

    def known_dead(self) -> bool:
        """Whether this machine knows that it is no more."""
        if not (self.same_kernel() and self.space and self.space == _space()):
            return False
        return _started(self.pid) != self.started


def age_s(path: Path) -> float:
    """Seconds since a file was last touched, by its file system's clock."""
    probe = path.with_name(f".clock.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}")
    probe.touch()
    try:
        return probe.stat().st_mtime - path.stat().st_mtime
    finally:
        probe.unlink()


def _started(pid: int) -> str:
    """When a process began; empty where there is none."""
    # the name, in parentheses, may hold anything; the start is the 20th field behind it
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
