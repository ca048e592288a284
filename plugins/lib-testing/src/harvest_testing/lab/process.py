"""Work that the kit does in a process of its own: another place, another zone, a kill, a measure.

The parent sends a function of a module and its arguments as a pickle, which is the way a source
and its partitions travel to workers, and gets the result back as a pickle.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

__all__ = ["Ended", "forked", "in_process", "killed", "peak_memory"]


@attrs.frozen
class Ended:
    """How a process ended: its status (negative: by that signal), its errors, its result."""

    status: int
    errors: str
    result: Any = None


def in_process(
    function: Callable[..., Any],
    *arguments: Any,
    scratch: Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    under: Sequence[str] = (),
) -> Ended:
    """Call a module's function in a new interpreter, with nothing of this one but ``sys.path``.

    scratch: an existing directory for what goes to and fro.
    under: a command that starts the interpreter, as a tracer does.
    Raises whatever pickle raises for arguments that cannot travel.
    """
    task, answer = scratch / "task.pickle", scratch / "answer.pickle"
    task.write_bytes(pickle.dumps((function, arguments)))
    answer.unlink(missing_ok=True)
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    done = subprocess.run(
        [*under, sys.executable, "-m", "harvest_testing.lab.process", str(task), str(answer)],
        cwd=cwd, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
    )  # fmt: skip
    errors = done.stderr.decode("utf-8", "backslashreplace")
    if done.returncode != 0:
        return Ended(done.returncode, errors)
    return Ended(0, errors, pickle.loads(answer.read_bytes()))  # noqa: S301 - the kit's own


def forked(function: Callable[[int], None]) -> tuple[int, str]:
    """Call a function in a fork of this process, which ends with it; its status and what it said.

    function: gets the descriptor that takes what it says, as UTF-8.  What it raises is the last of
    it, behind a NUL.  status: as ``os.waitpid`` gives it.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            function(writing)
        except BaseException:  # noqa: BLE001 - reported to the parent, whatever it is
            os.write(writing, b"\0" + traceback.format_exc().encode("utf-8", "replace"))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    return os.waitpid(child, 0)[1], said


def killed(status: int) -> bool:
    """Whether a process was killed by SIGKILL, by its status."""
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def peak_memory() -> int:
    """The most bytes of memory that this process ever held (``VmHWM``).

    Not ``ru_maxrss``, which begins with what the parent held.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise NotImplementedError("this system does not report a process's peak memory in /proc")


def _main(task: str, answer: str) -> None:
    function, arguments = pickle.loads(Path(task).read_bytes())  # noqa: S301 - the kit's own
    Path(answer).write_bytes(pickle.dumps(function(*arguments)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
