"""Waiting for the next round: by notifications if all directories can notify, else by a clock.

Network file systems cannot notify: this machine's kernel does not see writes of other machines.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs

from harvest import interrupt
from harvest.toolkit.texts import printable_line

from .inputs import Inputs, within

LOOK_EVERY_S = 60.0
"""Seconds between checks of waiting files and files elsewhere, if the file system notifies."""

_QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
_QUEUED = 16_384
"""Notifications that the kernel queues for a listener, see inotify(7); more are lost."""

_STEP_MS = 250
_GROUP_MS = 1_000


class _StopSignal:
    """A signal that ends a wait, as the library asks for it."""

    is_set = staticmethod(interrupt.requested)


def _queue_length() -> int:
    try:
        return int(_QUEUE.read_text(encoding="ascii"))
    except (OSError, ValueError):  # not Linux
        return _QUEUED


def notifying() -> bool:
    """Return whether the library for notifications is installed."""
    return find_spec("watchfiles") is not None


@attrs.define(eq=False)
class Listening:
    """Notifications of the roots of a watch, used while all roots can notify.

    instead: why notifications must not be used; None if they may be.
    """

    _inputs: Inputs
    _note: Callable[[str], None]
    _every_s: float = attrs.field(kw_only=True)
    _look_every_s: float = attrs.field(kw_only=True)
    _instead: str | None = attrs.field(kw_only=True)
    _library: Any = attrs.field(default=None, init=False)
    _heard: set[str] | None = attrs.field(default=None, init=False)
    _found: list[tuple[int, int] | None] | None = attrs.field(default=None, init=False)

    @property
    def interval_s(self) -> float:
        """Seconds to the next look, if nothing is notified."""
        if self._library is None:
            return self._every_s
        return min(max(LOOK_EVERY_S, self._every_s), self._look_every_s)

    def heard(self) -> set[str] | None:
        """Return the paths that changed since the last call; None if any may have changed."""
        if self._library is None:
            return None
        self._hear(0.0)
        heard, self._heard = self._heard, set()
        return heard

    def wait(self, seconds: float, *, quietly: bool) -> None:
        """Wait for the time limit, a stop signal or, unless ``quietly``, a notification."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not interrupt.requested():
            if self._library is None:
                time.sleep(min(left, interrupt.POLL_S))
            elif self._hear(left) and not quietly:
                return

    def _hear(self, seconds: float) -> bool:
        """Return whether the file system notifies a change; a failure counts as one."""
        limit_ms = max(1, round(seconds * 1_000))  # 0 would mean no limit
        try:
            found = self._library.watch(_GROUP_MS, _STEP_MS, limit_ms, _StopSignal)
        except (OSError, RuntimeError) as error:
            self._fail(error)
            return True
        if isinstance(found, str):  # why it ended without a change
            return False
        paths = {path for _, path in found if path not in self._inputs.ours}
        # The library passes on neither that the kernel's queue overflowed nor which events it
        # lost. So many at once that it may have been are taken for that.
        if len(paths) >= _queue_length() // 2 or not all(map(self._inputs.is_in_root, paths)):
            self._heard = None
        elif self._heard is not None:
            self._heard |= paths
        return bool(paths)

    def begin(self) -> None:
        """Listen to the existing directories; report that, or the reason why not."""
        found = [_identity(root) for root in self._inputs.roots]
        if found == self._found:
            return
        self.close()
        self._found = found
        instead = self._instead or self._why_not() or self._listen()
        roots = ", ".join(map(printable_line, self._inputs.roots))
        if instead is None:
            self._note(f"watching {roots}, and looking at all of it every {self._look_every_s:g} s")
        else:
            self._note(f"looking at {roots} every {self._every_s:g} s ({instead})")

    def close(self) -> None:
        """Stop listening."""
        if self._library is not None:
            self._library.close()
            self._library = self._heard = None

    def _listen(self) -> str | None:
        """Begin to listen; return why this fails, for example if there are too many directories."""
        from watchfiles._rust_notify import RustNotify  # optional

        try:
            self._library = RustNotify(
                list(self._inputs.roots),
                debug=False,
                force_polling=False,
                poll_delay_ms=0,
                recursive=True,
                ignore_permission_denied=True,
            )
        except (OSError, RuntimeError) as error:
            self._fail(error)
        return self._instead

    def _fail(self, error: Exception) -> None:
        """Check periodically from the next ``begin`` on."""
        self.close()
        self._instead = f"notifications fail here: {printable_line(str(error))}"
        self._found = None

    def _why_not(self) -> str | None:
        """Return why the roots must be polled; None if they can notify."""
        for root, identity in zip(self._inputs.roots, self._found or (), strict=True):
            if identity is None:
                return f"{printable_line(root)} is not a directory"
            kind = network_file_system(root)
            if kind is not None:
                return f"{kind} does not notify"
        return None if notifying() else "watchfiles is not installed"


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and inode, which reveal a replaced directory; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


MOUNTS = "/proc/self/mountinfo"

_NETWORK = frozenset(
    (
        "9p", "afs", "beegfs", "ceph", "cifs", "cvfs", "dvs", "fhgfs", "fuse", "fuseblk",
        "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs",
        "panfs", "pvfs2", "smb2", "smb3", "smbfs", "virtiofs", "wekafs",
    )
)  # fmt: skip
_ESCAPE = re.compile(r"\\([0-7]{3})")


def network_file_system(path: str, mounts: str = MOUNTS) -> str | None:
    """Return the type of a network file system that contains a path or is mounted below it.

    Returns None if there is none, or if the mounts cannot be read.
    mounts: path of a file in the format of ``proc_pid_mountinfo(5)``.
    """
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    place = os.path.realpath(path)
    holding, kind_of_holding = "", ""
    for line in lines:
        point, kind = _mount(line)
        if within(place, point):
            if len(point) >= len(holding):  # at one place, the later mount hides the other
                holding, kind_of_holding = point, kind
        elif within(point, place) and _is_network(kind):
            return kind
    return kind_of_holding if _is_network(kind_of_holding) else None


def _mount(line: str) -> tuple[str, str]:
    """Parse mount point and type; any number of optional fields precedes the ``-``."""
    before, _, after = line.partition(" - ")
    point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), before.split(" ")[4])
    return point, after.split(" ")[0]


def _is_network(kind: str) -> bool:
    return kind in _NETWORK or kind.startswith("fuse.")
