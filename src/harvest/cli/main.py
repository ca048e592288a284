"""A call of the command line: convert errors to one line and an exit code."""

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from harvest import interrupt
from harvest.errors import ExitCode, HarvestError, error_within, out_of_files, system_reason
from harvest.plugin_code import contained
from harvest.toolkit.steps import remark

_End: TypeAlias = "tuple[int, Callable[[], object] | str | None]"
"""An exit code, and its output: a line, a function that prints, or None."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with one of its documented codes."""
    argv = sys.argv[1:] if arguments is None else arguments
    # an output that the caller has closed (`>&-`) is None
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    debug = "--debug" in argv
    try:
        code, message = _run([a for a in argv if a != "--debug"]), None
    except BaseException as error:
        code, message = _outcome(error)
        interrupted = code == ExitCode.INTERRUPTED
        if debug and not interrupted and not isinstance(error, BrokenPipeError):
            interrupt.finish()
            raise
    interrupt.finish()
    if callable(message):
        message()
    elif message is not None:
        remark(message)
    sys.exit(code)


def _run(argv: list[str]) -> int:
    from .app import app, call  # late: this import is slow, and signals are handled before

    # with such a variable, typer completes words for a shell, and ends with SystemExit
    completes = any(name.startswith("_") and name.endswith("_COMPLETE") for name in os.environ)
    with contextlib.nullcontext() if completes else contained(command=True):
        try:
            code = app(args=argv, standalone_mode=False) if completes else call(argv)
        except SystemExit as error:  # typer and rich raise it if the reader of the output leaves
            if isinstance(error.__context__, BrokenPipeError):
                raise error.__context__ from None
            raise
        if code == ExitCode.INTERRUPTED:  # typer turns KeyboardInterrupt into it
            raise KeyboardInterrupt
    sys.stdout.flush()
    return int(code) if isinstance(code, int) else ExitCode.DONE


def _outcome(error: BaseException) -> _End:
    # a signal may also have ended a process that the run uses; then its loss is the error
    if isinstance(error, KeyboardInterrupt) or interrupt.requested():
        return ExitCode.INTERRUPTED, interrupt.MESSAGE
    cause = error.__cause__
    if (
        isinstance(cause, OSError)
        and out_of_files(cause)
        and system_reason(cause) not in str(error)
    ):
        error = cause  # report the cause, not what it was taken for
    if isinstance(error, HarvestError):
        return error.exit_code, str(error)
    if isinstance(error, OSError):
        where = error.filename or ("standard output" if _output_fails() else "")
        if isinstance(error, BrokenPipeError):  # the reader has closed the output (`| head`)
            return ExitCode.FAILED, None
        return ExitCode.FAILED, f"{where}: {system_reason(error)}".removeprefix(": ")
    if isinstance(error, MemoryError):
        return ExitCode.FAILED, "out of memory; see how much this process may have: `ulimit -v`"
    if isinstance(error, UnicodeEncodeError) and sys.stdout.encoding != "utf-8" != error.encoding:
        said = f"the output has a character that the encoding {sys.stdout.encoding} lacks"
        return ExitCode.FAILED, f"{said}; set PYTHONIOENCODING=utf-8"
    if not isinstance(error, Exception):
        raise error
    cause = error_within(error) if type(error).__module__.startswith("polars") else None
    if cause is not None:
        return cause.exit_code, str(cause)
    return _other_outcome(error)


def _output_fails() -> bool:
    """Return whether standard output cannot be written to; if so, what is left is discarded."""
    try:
        print(flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def _other_outcome(error: Any) -> _End:
    """Return the outcome of other errors: texts of the argument parser, or a defect."""
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(code, int):
        option: str = getattr(error, "option_name", "")  # an unknown one
        if option and any("--set" in each.opts for each in error.ctx.command.params):
            error.message += f"; if it is a setting: --set {option.lstrip('-')}=VALUE"
        return code, show
    if type(error).__name__ == "Abort":  # end of input at a prompt
        return ExitCode.INTERRUPTED, "interrupted"
    from harvest.plugins.registry import manager  # late: imported only if needed

    # attrs gives its own objects with the text; polars adds its plan in further paragraphs
    said = str(error.args[0] if type(error) in (TypeError, ValueError) and error.args else error)
    said = said.partition("\n\n")[0]
    return ExitCode.FAILED, f"unexpected {type(error).__name__}: {said}; {manager().blame(error)}"
