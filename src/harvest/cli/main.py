"""Start of the program: signals, and errors turned into one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from harvest.errors import ExitCode, HarvestError
from harvest.run import interrupt

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with one of its documented codes."""
    argv = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in argv
    interrupt.install()
    try:
        from .app import app

        code = app(args=[a for a in argv if a != "--debug"], standalone_mode=False)
        sys.stdout.flush()
        sys.exit(int(code) if isinstance(code, int) else ExitCode.DONE)
    except SystemExit:
        raise
    except KeyboardInterrupt:
        _say("interrupted; what was committed before is unharmed, run again to go on")
        _leave(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # the reader of our output went away (`| head`): its business
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.FAILED)
    except HarvestError as error:
        if debug:
            raise
        _say(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _say(f"{where}{error.strerror or error}; nothing of this run was committed")
        sys.exit(ExitCode.FAILED)
    except Exception as error:
        if debug:
            raise
        sys.exit(_unexpected(error))


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


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)


def _say(text: str) -> None:
    from harvest.run.text import printable

    lines = printable(text).splitlines() or [""]
    shown = "\n".join(
        "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        for line in lines
    )
    print(f"harvest: {shown}", file=sys.stderr)
