"""Run a function in a separate process: in another directory or time zone, or to be killed.

The parent sends a function of a module and its arguments as a pickle, as sources and partitions
travel to workers. The result comes back as a pickle.
"""

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
    """The result of a process.

    status: negative for a signal, None if killed at the limit. errors: standard output and error.
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
    """Call a module's function in a new interpreter, with this one's ``sys.path`` and environment.

    scratch: an existing directory for the pickles. environment: variables to add or replace.
    limit_s: time limit in seconds, after which the process and its children are killed.
    Raises any error of pickle for arguments that cannot be pickled.
    """
    task, answer, said = (scratch / f"{name}.pickle" for name in ("task", "answer", "said"))
    task.write_bytes(pickle.dumps((function, arguments)))
    answer.unlink(missing_ok=True)
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    # output goes to a file: a child of the process could hold a pipe open after its end
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
