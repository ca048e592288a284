"""What one array task of the engine ``slurm`` runs: its partitions, staged one by one.

``python -m harvest.engines.slurm.worker FOLDER NUMBER``.  Partitions that an earlier attempt of the
task staged are left as they are.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from harvest import interrupt
from harvest.errors import ExitCode, HarvestError

__all__ = ["main"]


def main() -> int:
    """Work; exit code 0 when all is staged, 1 when an error was kept, another when interrupted."""
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    cpus = int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    # before anything heavy is imported
    os.environ.setdefault("POLARS_MAX_THREADS", str(cpus))
    os.environ.setdefault("OMP_NUM_THREADS", str(cpus))
    interrupt.install()
    try:
        return _work(folder, number, cpus)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _work(folder: Path, number: int, cpus: int) -> int:
    # these come with Arrow, which takes its numbers of threads from the environment
    from harvest.engines import pool
    from harvest.engines.worker_process import WorkerLost
    from harvest.pipeline.bundling import bundles, harvest_partitions
    from harvest.storage.staging import staged_parts

    from .tasks import read_tasks, write_error

    try:
        tasks = read_tasks(folder, number)
        states = {sink.state for task in tasks for sink, _ in task.targets}
        done = {
            (state, stem)
            for state in states
            for stem, staged in staged_parts(state).items()
            if staged.part.settled
        }
        todo = [
            task
            for task in tasks
            if not all((sink.state, part.stem) in done for sink, part in task.targets)
        ]
        together = list(bundles(todo))
        workers = min(cpus, len(together))
        for results in pool.apply(harvest_partitions, together, workers=workers):
            for result in results:
                print(f"harvest: staged {result.source}: {result.origin}", flush=True)
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


if __name__ == "__main__":
    sys.exit(main())
