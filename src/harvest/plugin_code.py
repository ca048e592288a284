"""Calling the code of a plugin, which ends neither the program nor its results.

``sys.exit(0)`` in a plugin would end a run as if all were well, and what it prints would stand
among the rows of ``--json``.  Where the code of plugins is called, it is ``contained``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from harvest import interrupt
from harvest.errors import lack_of

__all__ = ["contained", "results"]

_apart: int | None = None  # where results go while standard output is standard error

_COMMAND_LINE = frozenset(("click", "typer"))
"""Packages that have exceptions to end a command with, also as if all were well."""


class PluginExit(Exception):
    """A plugin raised what ends a program (SystemExit, KeyboardInterrupt, ...), not an error."""


@contextlib.contextmanager
def contained(*, command: bool = False) -> Iterator[None]:
    """Code of plugins: what it raises to end the program is an exception like any other.

    command: whether it is a whole command, whose output is the program's and which may end as those
        of typer do.  What other code prints goes to standard error, if this is the program.
    Raises PluginExit, with the traceback of what was raised.  A KeyboardInterrupt that a person may
    have meant is passed on.  A process that the plugin forked ends here.
    """
    process = os.getpid()
    try:
        with contextlib.nullcontext() if command else _results_apart():
            yield
    except BaseException as error:
        _end_if_forked(process, error)
        if (lack := lack_of(error)) is not None:
            raise lack from error
        if isinstance(error, Exception) and (command or _package(error) not in _COMMAND_LINE):
            raise
        if isinstance(error, KeyboardInterrupt) and interrupt.may_be_meant():
            raise
        ended = PluginExit(repr(error)).with_traceback(error.__traceback__)
        for note in getattr(error, "__notes__", ()):
            ended.add_note(note)
        raise ended from error
    _end_if_forked(process)


def _package(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _end_if_forked(process: int, error: BaseException | None = None) -> None:
    """End a process that is not the one that called the plugin: the work is the other's."""
    if os.getpid() != process:
        code = getattr(error, "code", 1 if error else 0) or 0
        os._exit(code if isinstance(code, int) else 1)


def results() -> int:
    """The descriptor of standard output, also where code is ``contained``: for a sink's rows."""
    return 1 if _apart is None else _apart


@contextlib.contextmanager
def _results_apart() -> Iterator[None]:
    """Let standard output be standard error, also for libraries and processes that are started."""
    global _apart
    here = interrupt.is_program() and threading.current_thread() is threading.main_thread()
    if not here or None in (sys.stdout, sys.stderr) or sys.stdout is sys.stderr:
        yield
        return
    sys.stdout.flush()
    outer, _apart = _apart, os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(_apart, 1)
        os.close(_apart)
        _apart = outer
