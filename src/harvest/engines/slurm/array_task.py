"""The partitions of one array task, staged one by one."""

from __future__ import annotations

import sys
from operator import attrgetter
from pathlib import Path

from harvest import interrupt
from harvest.engines import pool
from harvest.engines.worker_process import WorkerLost
from harvest.errors import ExitCode, HarvestError
from harvest.pipeline.bundling import bundles, harvest_partitions

from .tasks import read_tasks, write_error

__all__ = ["stage"]


def stage(folder: Path, number: int, cpus: int) -> int:
    """Stage the task's partitions, with so many processes; gives the exit code."""
    try:
        tasks = read_tasks(folder, number)
        together = list(bundles(tasks, attrgetter("sinks")))
        workers = min(cpus, len(together))
        for results in pool.apply(harvest_partitions, together, workers=workers):
            for staged, *_ in results:
                print(f"harvest: staged {staged.part.source}: {staged.part.origin}", flush=True)
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
