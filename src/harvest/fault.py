"""Fault points: named steps at which a test can kill a run, or make the storage fail.

    fault.point("commit.published")

does nothing unless the environment variable ``HARVEST_FAULT`` names the step::

    HARVEST_FAULT=NAME[:N[:WHAT]]

Then the N-th time (from 1, in each process) that a run reaches the step, this happens:

- ``kill`` (the default): SIGKILL for the run's process group and this process, as when a node is
  lost;
- ``die``: SIGKILL for this process alone, as from the kernel's memory killer;
- ``int``, ``term`` or ``stop``: SIGINT, SIGTERM or SIGSTOP for the run's process group;
- the name of an error number such as ``ENOSPC``: an OSError as a file system raises it.

It is an aid for tests; without the variable, a step costs one comparison.
"""

import errno
import os
import signal

__all__ = ["point"]

VARIABLE = "HARVEST_FAULT"

_SIGNALS = {
    "kill": signal.SIGKILL,
    "int": signal.SIGINT,
    "term": signal.SIGTERM,
    "stop": signal.SIGSTOP,
}


class _Fault:
    def __init__(self, text: str):
        name, _, rest = text.partition(":")
        count, _, what = rest.partition(":")
        self.name = name
        self.left = int(count or 1)
        self.what = what or "kill"
        self.group: int | None = None
        if self.what not in (*_SIGNALS, "die") and not hasattr(errno, self.what):
            raise ValueError(f"{VARIABLE}: {self.what!r} is neither a way to die nor an errno")

    def pass_point(self, name: str) -> None:
        if name != self.name:
            return
        self.left -= 1
        if self.left:
            return
        if self.what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.what in _SIGNALS:
            os.killpg(self.group or os.getpgrp(), _SIGNALS[self.what])
            if self.what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
        else:
            number = getattr(errno, self.what)
            raise OSError(number, os.strerror(number), f"<fault point {self.name}>")


_fault = _Fault(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None


def point(name: str) -> None:
    """Mark a named step of the protocol; fail here if the environment variable says so."""
    if _fault is not None:
        _fault.pass_point(name)


def strike_group(group: int) -> None:
    """Send signals to the process group of the run, not to this process's group."""
    if _fault is not None:
        _fault.group = group
