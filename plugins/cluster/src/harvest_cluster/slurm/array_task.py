"""The partitions of one array task, staged one by one."""

from __future__ import annotations

import sys
from pathlib import Path

from harvest import interrupt
from harvest.engines import read_bundles
from harvest.errors import ExitCode, HarvestError, WorkerLost

from .tasks import read_task, write_error


def stage(folder: Path, number: int, cpus: int) -> int:
    """Stage the task's partitions, with so many processes; gives the exit code."""
    try:
        for result in read_bundles(read_task(folder, number).split(), workers=cpus):
            for origin in result.origins:
                print(f"harvest: staged {origin}", flush=True)
            interrupt.check()
    except (MemoryError, HarvestError, OSError) as error:
        print(f"harvest: {error}", file=sys.stderr)
        if isinstance(error, MemoryError | WorkerLost):
            return ExitCode.FAILED  # it may do better when it is begun again
        write_error(folder, number, error)
        return ExitCode.FAILED
    except Exception as error:
        write_error(folder, number, error)
        raise
    return ExitCode.DONE
