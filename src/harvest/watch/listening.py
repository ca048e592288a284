"""Which directories notify and which must be looked at, as they come and go."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from harvest.toolkit.texts import printable_line

from .inputs import Inputs
from .mounts import network_file_system
from .notify import Bell, Notifications, notifying

__all__ = ["Listening"]

LOOK_EVERY_S = 60.0
"""Seconds between looks where the file system notifies: a queue of the kernel may overflow."""


class Listening:
    """Notifications of the roots of a watch, as long as all of them can have some.

    interval_s: how long to wait for the next look when nothing rings.
    """

    def __init__(
        self,
        inputs: Inputs,
        bell: Bell,
        *,
        every_s: float,
        poll: bool,
        note: Callable[[str], None],
    ):
        self._inputs = inputs
        self._bell = bell
        self._every_s = every_s
        self._note = note
        self._instead = "as told" if poll else None
        self._to: Notifications | None = None
        self._found: list[tuple[int, int] | None] | None = None

    @property
    def interval_s(self) -> float:
        """Seconds to the next look, if nothing rings."""
        return self._every_s if self._to is None else max(LOOK_EVERY_S, self._every_s)

    def begin(self) -> None:
        """Listen to the directories that are there now; say so, or why that cannot be."""
        if self._to is not None and self._to.failure is not None:
            self._instead = f"notifications fail here: {printable_line(self._to.failure)}"
            self._found = None
        found = [_identity(root) for root in self._inputs.roots]
        if found == self._found:
            return
        self.close()
        self._found = found
        instead = self._instead or self._why_not()
        roots = ", ".join(map(printable_line, self._inputs.roots))
        if instead is None:
            self._to = Notifications(self._inputs.roots, self._wanted, self._bell.ring)
            self._note(f"watching {roots}")
        else:
            self._note(f"looking at {roots} every {self._every_s:g} s ({instead})")

    def close(self) -> None:
        """Listen no more."""
        if self._to is not None:
            self._to.close()
            self._to = None

    def _wanted(self, path: str) -> bool:
        return path not in self._inputs.ours

    def _why_not(self) -> str | None:
        """Why the roots must be looked at; None if they can notify."""
        for root, identity in zip(self._inputs.roots, self._found or (), strict=True):
            if identity is None:
                return f"{printable_line(root)} is no directory"
            kind = network_file_system(root)
            if kind is not None:
                return f"{kind} does not notify"
        return None if notifying() else "watchfiles is not installed"


def _identity(path: str) -> tuple[int, int] | None:
    """Tells a directory from another that takes its place; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None
