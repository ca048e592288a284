"""Programs whose output a source reads, run without a shell::

    output = run_program(["qstat", "-f"], ctx, where="pbs:live", env={**os.environ, "TZ": "UTC"},
                         missing="install PBS", failed="check that the server answers: qstat -B")
    with output.open("rb") as stream:
        yield from read(stream)

Messages of the program become notes of the run.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from harvest import ReadContext, SourceError

__all__ = ["run_program"]


def run_program(
    command: Sequence[str],
    ctx: ReadContext,
    *,
    where: str,
    env: Mapping[str, str],
    missing: str,
    failed: str,
    timeout_s: float | None = None,
    slow: str | None = None,
) -> Path:
    """Run a program to its end; return the file of its output. Its messages become notes.

    missing, failed, slow: what to do if it cannot be run, fails, or takes more than timeout_s.
    Raises SourceError in these cases.
    """
    name = Path(command[0]).name
    output, messages = (ctx.scratch / f"{name}.{kind}" for kind in ("out", "err"))
    with output.open("wb") as out, messages.open("wb") as err:
        try:
            status = subprocess.run(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=timeout_s,
                check=False,
            ).returncode
        except (FileNotFoundError, PermissionError) as error:
            found = "was not found" if isinstance(error, FileNotFoundError) else "may not be run"
            text = f"program {command[0]!r} {found}"
            raise SourceError(text, where=where, remedy=missing) from None
        except subprocess.TimeoutExpired:
            text = f"{name} did not end within {timeout_s} s"
            raise SourceError(text, where=where, remedy=slow) from None
    said = messages.read_text("utf-8", "replace").strip().splitlines()
    if status != 0:
        text = f"{name} ended with status {status}: {said[-1] if said else 'no message'}"
        raise SourceError(text, where=where, remedy=failed)
    for line in said[:20]:
        ctx.note(f"{name} says: {line}")
    return output
