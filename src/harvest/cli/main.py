"""Start of the program: signals, and errors turned into one line and an exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import NoReturn

from harvest.errors import ExitCode, HarvestError, told_within
from harvest.run import interrupt

from .early import begin_workers

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with one of its documented codes."""
    argv = sys.argv[1:] if arguments is None else arguments
    # most of what lives here are modules and columns, in which there is no garbage to look for
    gc.set_threshold(100_000, 20, 20)
    interrupt.install()
    code = _run([a for a in argv if a != "--debug"], debug="--debug" in argv)
    # from here on there is nothing left to interrupt
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(code)


def _run(argv: list[str], *, debug: bool) -> int:
    """Call a command; its exit code, after any error has been told."""
    try:
        begin_workers(argv)
        from .app import app

        code = app(args=argv, standalone_mode=False)
        sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:  # typer turns KeyboardInterrupt into it
            return _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        # the reader of our output went away (`| head`): its business
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FAILED
    except HarvestError as error:
        if interrupt.requested():  # the signal reached the workers too, and the run lost them
            return _interrupted()
        if debug:
            raise
        _say(str(error))
        return error.exit_code
    except OSError as error:
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _say(f"{where}{error.strerror or error}")
        return ExitCode.FAILED
    except Exception as error:
        if debug:
            raise
        told = told_within(error) if type(error).__module__.startswith("polars") else None
        if told is not None:
            _say(str(told))
            return told.exit_code
        return _unexpected(error)
    return int(code) if isinstance(code, int) else ExitCode.DONE


def _interrupted() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _say("interrupted; what was committed before is unharmed, run again to go on")
    return ExitCode.INTERRUPTED


def _unexpected(error: Exception) -> int:
    """Usage errors of the argument parser have texts of their own; the rest is a defect."""
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(code, int):
        show()
        return code
    if type(error).__name__ == "Abort":
        _say("interrupted")
        return ExitCode.INTERRUPTED
    _say(
        f"unexpected {type(error).__name__}: {error}; "
        "this is a defect: run with --debug and report the traceback"
    )
    return ExitCode.FAILED


def _say(text: str) -> None:
    from harvest.run.text import printable

    lines = printable(text).splitlines() or [""]
    shown = "\n".join(
        "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        for line in lines
    )
    print(f"harvest: {shown}", file=sys.stderr)
