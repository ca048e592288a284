"""Waiting for the next round: by notifications if all directories can notify, else by a clock.

Network file systems cannot notify: this machine's kernel does not see writes of other machines.
"""

import contextlib
import os
import re
import stat
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

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
_SIGN_OF_LIFE_MS = 1_000


def notifying() -> bool:
    """Return whether the library for notifications is installed."""
    return find_spec("watchfiles") is not None


@attrs.define(eq=False)
class Listening:
    """Notifications of the roots of a watch, used while all roots can notify.

    They end a wait, and so does their failure. Their begin does, too, so that earlier changes are
    found.
    note: reports a text; every_s, look_every_s: as ``WatchOptions``.
    instead: why notifications must not be used; None if they may be.
    """

    # The library passes on neither that the kernel's queue overflowed nor which events it lost.
    # So many at once that it may have been are taken for that.

    _inputs: Inputs
    _note: Callable[[str], None]
    _every_s: float
    _look_every_s: float
    _instead: str | None
    _found: list[tuple[int, int] | None] | None = None
    _thread: threading.Thread | None = None
    _stop: threading.Event = attrs.field(factory=threading.Event)
    _rings: threading.Event = attrs.field(factory=threading.Event)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _heard: set[str] | None = None
    _failure: str | None = None
    _too_many: int = _QUEUED // 2

    def __attrs_post_init__(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # not Linux
            self._too_many = int(_QUEUE.read_text(encoding="ascii")) // 2

    @property
    def interval_s(self) -> float:
        """Seconds to the next look, if nothing is notified."""
        if self._thread is None:
            return self._every_s
        return min(max(LOOK_EVERY_S, self._every_s), self._look_every_s)

    def heard(self) -> set[str] | None:
        """Return the paths that changed since the last call; None if any may have changed."""
        if self._thread is None:
            return None
        with self._lock:
            heard, self._heard = self._heard, set()
        if heard is None or not all(map(self._inputs.is_in_root, heard)):
            return None
        return heard

    def wait(self, seconds: float, *, quietly: bool = False) -> bool:
        """Wait until a notification, a stop signal, or the time limit; return whether one came.

        quietly: let no notification end the wait.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not interrupt.requested():
            if self._rings.wait(min(left, interrupt.POLL_S)):
                self._rings.clear()
                if not quietly:
                    return not interrupt.requested()
        return False

    def begin(self) -> None:
        """Listen to the existing directories; report that, or the reason why not."""
        if self._failure is not None:
            self._instead = f"notifications fail here: {printable_line(self._failure)}"
            self._found = None
        found = [_identity(root) for root in self._inputs.roots]
        if found == self._found:
            return
        self.close()
        self._found = found
        instead = self._instead or self._why_not()
        roots = ", ".join(map(printable_line, self._inputs.roots))
        if instead is None:
            self._heard = None
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()
            self._note(f"watching {roots}, and looking at all of it every {self._look_every_s:g} s")
        else:
            self._note(f"looking at {roots} every {self._every_s:g} s ({instead})")

    def close(self) -> None:
        """Stop listening."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._stop.clear()
            self._thread = self._failure = None

    def _hear(self, paths: set[str] | None) -> None:
        with self._lock:
            if paths is None or len(paths) >= self._too_many:
                self._heard = None
            elif self._heard is not None:
                self._heard |= paths
        self._rings.set()

    def _listen(self) -> None:
        import watchfiles  # optional

        listening = False
        try:
            for changes in watchfiles.watch(
                *self._inputs.roots,
                watch_filter=lambda _, path: path not in self._inputs.ours,
                debounce=_SIGN_OF_LIFE_MS,
                step=_STEP_MS,
                rust_timeout=_SIGN_OF_LIFE_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                force_polling=False,
                ignore_permission_denied=True,
                raise_interrupt=False,
            ):
                if changes or not listening:
                    self._hear({path for _, path in changes} if listening else None)
                    listening = True
        except (OSError, RuntimeError) as error:  # too many directories; a defect within
            self._failure = str(error)
        else:
            if not self._stop.is_set():
                self._failure = "the notifications ended"
        if self._failure is not None:
            self._rings.set()

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
        # any number of optional fields precedes the dash
        before, _, after = line.partition(" - ")
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), before.split(" ")[4])
        kind = after.split(" ")[0]
        if within(place, point):
            if len(point) >= len(holding):  # at one place, the later mount hides the other
                holding, kind_of_holding = point, kind
        elif within(point, place) and _is_network(kind):
            return kind
    return kind_of_holding if _is_network(kind_of_holding) else None


def _is_network(kind: str) -> bool:
    return kind in _NETWORK or kind.startswith("fuse.")
