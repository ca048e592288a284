"""Program of a batch job's task: runs its commands in order and records their states.

``python -m harvest_cluster.batch.element DIRECTORY``; Slurm's environment has the task's number.
A command that succeeded in an earlier attempt of the task is not run again.
"""

import os
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harvest.errors import ExitCode

from .files import JOB, STATE, read, write


class _ArrayTask:
    def __init__(self, directory: Path):
        self.directory = directory
        self.job = read(directory / JOB)
        self.number = int(os.environ.get("SLURM_ARRAY_TASK_ID", "0"))
        self.child: subprocess.Popen[bytes] | None = None
        self.stopped = False

    def run(self) -> int:
        """Run the commands; return the exit code of the first that failed, or 0."""
        signal.signal(signal.SIGTERM, self._stop)
        per_task = self.job["per_task"]
        first = self.number * per_task
        worst = 0
        for number in range(first, min(first + per_task, len(self.job["commands"]))):
            path = self.directory / STATE / f"{number}.json"
            before = read(path)
            if before is not None and before["exit_code"] == 0:
                continue
            code = self._command(number, path)
            worst = worst or code
            if self.stopped:
                break
        return worst

    def _command(self, number: int, path: Path) -> int:
        words = self.job["commands"][number]
        state = {
            "state": "running",
            "exit_code": None,
            "signal": None,
            "job_id": os.environ.get("SLURM_JOB_ID"),
            "restart": int(os.environ.get("SLURM_RESTART_COUNT", "0")),
            "host": socket.gethostname(),
            "started": _now(),
            "ended": None,
        }
        write(path, state)
        try:
            self.child = subprocess.Popen(words, cwd=self.job["cwd"], stdin=subprocess.DEVNULL)
        except OSError as error:
            print(f"harvest: {words[0]!r} cannot be run: {error}", file=sys.stderr)
            code = 127
        else:
            if self.stopped:
                self.child.terminate()
            code = self.child.wait()
        ended: dict[str, Any] = {"state": "ended", "ended": _now()}
        ended["exit_code"] = code if code >= 0 else None
        ended["signal"] = -code if code < 0 else None
        write(path, state | ended)
        return code if code >= 0 else 128 - code

    def _stop(self, *_: object) -> None:
        self.stopped = True
        if self.child is not None:
            self.child.terminate()


def _now() -> str:
    return datetime.now(UTC).isoformat()


def main() -> int:
    """Run the task that Slurm's environment names."""
    if len(sys.argv) != 2:
        print("usage: python -m harvest_cluster.batch.element DIRECTORY", file=sys.stderr)
        return ExitCode.USAGE
    return _ArrayTask(Path(sys.argv[1])).run()


if __name__ == "__main__":
    sys.exit(main())
