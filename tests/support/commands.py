"""The command line, called in this process or in one of its own.

What is printed and the exit code are those of ``harvest WORDS...``.  ``harvest_here`` does not
spend the second that a process takes to start; it is for all that is not about the process itself.
Several commands share a process that executes ``ONE_AFTER_THE_OTHER``.
"""

import contextlib
import io
import os
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest import mock

from harvest.cli.main import main

__all__ = ["ONE_AFTER_THE_OTHER", "harvest_alone", "harvest_here", "printed", "python_alone"]

ONE_AFTER_THE_OTHER = """
import shlex, sys
from harvest.cli.main import main
for line in sys.argv[1:]:
    try:
        main(shlex.split(line)[1:])
    except SystemExit as end:
        print(f"\\x1e{end.code or 0}\\x1e", end="", flush=True)
"""
"""Code that runs the commands given, each a line; it marks each exit code by odd characters."""


def printed(commands: Sequence[str], output: str) -> list[CompletedProcess[str]]:
    """What each of the commands printed, in one stream, and its exit code."""
    *parts, rest = output.split("\x1e")
    assert (len(parts), rest) == (2 * len(commands), "")
    return list(map(CompletedProcess, commands, map(int, parts[1::2]), parts[::2]))


def harvest_here(
    *words: object, cwd: Path | None = None, **variables: str
) -> CompletedProcess[str]:
    """Call ``harvest WORDS...`` with these environment variables besides those that are set.

    Gives its exit code and what it printed, a traceback (``--debug``) included.
    """
    arguments = list(map(str, words))
    out, err = _text(), _text()
    with (
        mock.patch.dict(os.environ, variables),
        contextlib.chdir(cwd or os.getcwd()),  # noqa: PTH109 - it takes the name back
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
        except Exception:
            traceback.print_exc()
            code = 1
    return CompletedProcess(arguments, code, _read(out), _read(err))


def _text() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", newline="")


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def harvest_alone(*words: object, **options: Any) -> CompletedProcess[str]:
    """Run ``harvest WORDS...`` in a process of its own; options: of ``subprocess.run``."""
    return _process(["-m", "harvest", *words], options)


def python_alone(code: str, *arguments: object, **options: Any) -> CompletedProcess[str]:
    """Execute some code in a process of its own; options: of ``subprocess.run``."""
    return _process(["-c", code, *arguments], options)


def _process(words: list[object], options: dict[str, Any]) -> CompletedProcess[str]:
    command = [sys.executable, *map(str, words)]
    options = {"capture_output": True, "text": True, "timeout": 300, **options}
    return subprocess.run(command, check=False, **options)
