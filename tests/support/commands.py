"""The command line called in this process, for tests that are not about the process itself.

What is printed and the exit code are those of ``harvest WORDS...``; only the second that a process
of its own takes to start is not spent.
"""

from __future__ import annotations

import contextlib
import io
import os
import traceback
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from harvest.cli.main import main

__all__ = ["harvest_here"]


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
