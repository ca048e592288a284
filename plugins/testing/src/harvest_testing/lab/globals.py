"""State of the whole process, and how it changes.

A plugin shares its process with others and with the user's program. It must not change shared
state: environment, working directory, locale, random numbers, signal handlers, limits.
"""

import contextlib
import csv
import decimal
import gc
import io
import locale
import logging
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from harvest_testing.promise import require


def _without_flags(context: decimal.Context) -> Any:
    """Return the settings of a decimal context without its flags, which any computation sets."""
    settled = (context.prec, context.rounding, context.Emin, context.Emax)
    return settled, context.capitals, context.clamp, dict(context.traps)


_SETTLED: dict[str, Callable[[], Any]] = {
    "environment variables": lambda: dict(os.environ),
    "the working directory": os.getcwd,
    "the locale": lambda: locale.setlocale(locale.LC_ALL),
    "the time zone": lambda: (time.tzname, time.timezone),
    "random numbers (random.seed)": random.getstate,
    "signal handlers": lambda: [signal.getsignal(s) for s in sorted(signal.valid_signals())],
    "sys.set_int_max_str_digits": sys.get_int_max_str_digits,
    "csv.field_size_limit": csv.field_size_limit,
    "the recursion limit": sys.getrecursionlimit,
    "the decimal context": lambda: _without_flags(decimal.getcontext()),
    "socket.setdefaulttimeout": socket.getdefaulttimeout,
    "garbage collection": lambda: (gc.isenabled(), gc.get_threshold()),
    "standard streams": lambda: [id(sys.stdin), id(sys.stdout), id(sys.stderr)],
    "the working umask": lambda: Path("/proc/self/status").read_text().partition("Umask:")[2][:6],
}
"""State that not even the first use, with its imports, may change: name -> function to read it."""

_LATER: dict[str, Callable[[], Any]] = {
    "warnings filters": lambda: list(warnings.filters),
    "sys.path": lambda: list(sys.path),
    "logging (root logger)": lambda: (
        *(logging.root.level, list(logging.root.handlers), logging.root.manager.disable),
        logging.getLoggerClass(),
    ),
    "processes that it has started": lambda: child_processes(),
    "threads": lambda: sorted(t.name for t in threading.enumerate()),
}
"""State that libraries may change at their first import, but nobody after that."""


def snapshot(*, later: bool = False) -> dict[str, Any]:
    """Read the process's state by name; ``later`` adds state that first imports may change."""
    probes = _SETTLED | _LATER if later else _SETTLED
    return {name: probe() for name, probe in probes.items()}


def changes(before: dict[str, Any]) -> list[str]:
    """Return the names of state that has changed since a snapshot."""
    now = snapshot(later=any(name in before for name in _LATER))
    return [name for name, value in before.items() if now[name] != value]


def child_processes() -> list[str]:
    """Return the ids of this process's children that still exist, of all its threads."""
    found: list[str] = []
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += path.read_text().split()
    return sorted(found)


def open_files(below: Path) -> list[str]:
    """Return files and directories below a directory that this process holds open."""
    prefix = os.fsencode(below) + b"/"
    held = []
    for entry in os.listdir(b"/proc/self/fd"):  # noqa: PTH208 - names as bytes
        with contextlib.suppress(FileNotFoundError):  # the descriptor of the listing itself
            target = os.readlink(b"/proc/self/fd/" + entry)  # noqa: PTH115 - as above
            if target.startswith(prefix):
                held.append(os.fsdecode(target))
    return sorted(held)


@contextlib.contextmanager
def at_home_in(directory: Path) -> Iterator[None]:
    """Make a directory, and use it as home, temporary and working directory in the block."""
    directory.mkdir()
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(directory))
    with (
        mock.patch.dict(os.environ, places),
        mock.patch.object(tempfile, "tempdir", str(directory)),
        elsewhere(directory, os.environ.get("TZ", "UTC")),
    ):
        yield


@contextlib.contextmanager
def leaving_nothing(directory: Path, remedy: str) -> Iterator[None]:
    """Require that the block prints nothing and leaves no file in its home, ``directory/home``."""
    home, said = directory / "home", io.StringIO()
    with at_home_in(home), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield
        gc.collect()
    left = [str(path.relative_to(home)) for path in sorted(home.rglob("*"))]
    about = "left in the directory of temporary files, at home or where it works"
    require(not left, f"{about}: {left}", remedy)
    require(not said.getvalue(), f"it prints {said.getvalue()[:200]!r}", "print nothing")


def require_closed(directory: Path) -> None:
    """Require that no file below a directory is open."""
    held = open_files(directory)
    require(not held, f"left open: {held[:3]}", "open files in a `with` block, and close them")


def require_unchanged(before: dict[str, Any], doing: str) -> None:
    """Require that the process's state equals a snapshot; ``doing`` begins the message."""
    changed = changes(before)
    require(not changed, f"{doing} changes {', '.join(changed)}", "leave it, or put it back")


@contextlib.contextmanager
def elsewhere(directory: Path, zone: str) -> Iterator[None]:
    """Run the block in another working directory and time zone, within this process."""
    try:
        with contextlib.chdir(directory), mock.patch.dict(os.environ, {"TZ": zone}):
            time.tzset()
            yield
    finally:
        time.tzset()
