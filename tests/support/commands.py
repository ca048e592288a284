"""The command line, called in this process or in one of its own.

What is printed and the exit code are those of ``harvest WORDS...``.  ``harvest_here`` does not
spend the second that a process takes to start; it is for all that is not about the process itself.
``harvest_each`` calls several in one process, which may be of another environment.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO, Any
from unittest import mock

from harvest.cli.main import main


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


@contextlib.contextmanager
def in_place_of(number: int, file: int | IO[Any]) -> Iterator[None]:
    """Have a descriptor of this process, for example 0 of its standard input, be a file's."""
    kept = os.dup(number)
    os.dup2(file if isinstance(file, int) else file.fileno(), number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)


def _text() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", newline="")


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def harvest_alone(*words: object, **options: Any) -> CompletedProcess[str]:
    """Run ``harvest WORDS...`` in a process of its own; options: of ``subprocess.run``."""
    return _process(["-m", "harvest", *words], options)


def harvest_each(
    *commands: Sequence[object],
    python: Path | str = sys.executable,
    before: Sequence[str] = (),
    **options: Any,
) -> list[CompletedProcess[str]]:
    """Run these commands one after the other in one process; options: of ``subprocess.run``.

    before: words to start it with.
    """
    words = json.dumps([list(map(str, command)) for command in commands])
    own = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}  # not the tests' modules
    options = {"input": words, "text": True, "timeout": 300, "env": own, **options}
    done = subprocess.run(
        [*before, python, __file__], check=True, stdout=subprocess.PIPE, **options
    )
    return [CompletedProcess(*each) for each in json.loads(done.stdout)]


def python_alone(code: str, *arguments: object, **options: Any) -> CompletedProcess[str]:
    """Execute some code in a process of its own; options: of ``subprocess.run``."""
    return _process(["-c", code, *arguments], options)


def _process(words: list[object], options: dict[str, Any]) -> CompletedProcess[str]:
    command = [sys.executable, *map(str, words)]
    options = {"capture_output": True, "text": True, "timeout": 300, **options}
    return subprocess.run(command, check=False, **options)


if __name__ == "__main__":
    found = [harvest_here(*command) for command in json.load(sys.stdin)]
    print(json.dumps([[each.args, each.returncode, each.stdout, each.stderr] for each in found]))
