"""Work that the kit does in a process of its own: another place, another zone, a kill.

The parent sends a function of a module and its arguments as a pickle, which is the way a source
and its partitions travel to workers, and gets the result back as a pickle.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs


@attrs.frozen
class Ended:
    """How a process ended.

    status: negative: by that signal; None: it had to be ended.  errors: what it printed.
    """

    status: int | None
    errors: str
    result: Any = None


def in_process(
    function: Callable[..., Any],
    *arguments: Any,
    scratch: Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    limit_s: float | None = None,
) -> Ended:
    """Call a module's function in a new interpreter, with nothing of this one but ``sys.path``.

    scratch: an existing directory for what goes to and fro.
    limit_s: seconds that it may take; then it is ended, with all that it has started.
    Raises whatever pickle raises for arguments that cannot travel.
    """
    task, answer, said = (scratch / f"{name}.pickle" for name in ("task", "answer", "said"))
    task.write_bytes(pickle.dumps((function, arguments)))
    answer.unlink(missing_ok=True)
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    # its output goes to a file: what it has started may hold a pipe open after its end
    with said.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "harvest_testing.lab.process", str(task), str(answer)],
            cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
        )  # fmt: skip
    status: int | None = None
    try:
        status = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if status is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    printed = said.read_text("utf-8", "backslashreplace")
    found = pickle.loads(answer.read_bytes()) if answer.exists() else None  # noqa: S301 - ours
    return Ended(status, printed, found)


def _main(task: str, answer: str) -> None:
    function, arguments = pickle.loads(Path(task).read_bytes())  # noqa: S301 - the kit's own
    Path(answer).write_bytes(pickle.dumps(function(*arguments)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
