"""Call the code of a plugin so that it ends neither the program nor its output.

``sys.exit(0)`` in a plugin would end a run as if it had succeeded, and its prints would mix with
the rows of ``--json``. All code of plugins is called within ``contained``.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from harvest import interrupt
from harvest.errors import lack_of

__all__ = ["contained", "results"]

_apart: int | None = None  # descriptor of results while stdout is redirected to stderr

_COMMAND_LINE = frozenset(("click", "typer"))
"""Packages with exceptions that end a command, possibly with success."""


class PluginExit(Exception):
    """A plugin raised an exception that ends a program (SystemExit, ...), not an error."""


@contextlib.contextmanager
def contained(*, command: bool = False) -> Iterator[None]:
    """Run code of plugins; convert exceptions that would end the program to PluginExit.

    command: whether the code is a whole command. Its output is then the program's, and it may end
        with typer's exceptions. Other output goes to standard error, if this is the program.
    Raises PluginExit with the original traceback. A KeyboardInterrupt that may come from a person
    is passed on. A process that the plugin forked ends here.
    """
    process = os.getpid()
    try:
        with contextlib.nullcontext() if command else _results_apart():
            yield
    except BaseException as error:
        _end_if_forked(process, error)
        if (lack := lack_of(error)) is not None:
            raise lack from error
        package = type(error).__module__.partition(".")[0]
        if isinstance(error, Exception) and (command or package not in _COMMAND_LINE):
            raise
        if isinstance(error, KeyboardInterrupt) and interrupt.may_be_meant():
            raise
        ended = PluginExit(repr(error)).with_traceback(error.__traceback__)
        for note in getattr(error, "__notes__", ()):
            ended.add_note(note)
        raise ended from error
    _end_if_forked(process)


def _end_if_forked(process: int, error: BaseException | None = None) -> None:
    """End a process that the plugin forked: the work belongs to the calling process."""
    if os.getpid() != process:
        code = getattr(error, "code", 1 if error else 0) or 0
        os._exit(code if isinstance(code, int) else 1)


def results() -> int:
    """Return the descriptor of standard output, even within ``contained``: for a sink's rows."""
    return 1 if _apart is None else _apart


@contextlib.contextmanager
def _results_apart() -> Iterator[None]:
    """Redirect standard output to standard error, also for libraries and started processes."""
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
