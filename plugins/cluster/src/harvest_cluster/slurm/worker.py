"""Program of one array task of the engine ``slurm``.

``python -m harvest_cluster.slurm.worker FOLDER NUMBER``.
"""

import os
import sys
from pathlib import Path

from harvest import interrupt
from harvest.errors import ExitCode


def main() -> int:
    """Stage a task; exit code 0 if complete, 1 if an error was written, another if interrupted."""
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    cpus = int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    os.environ.setdefault("POLARS_MAX_THREADS", str(cpus))
    os.environ.setdefault("OMP_NUM_THREADS", str(cpus))
    interrupt.install()
    try:
        # late: it imports Arrow, which reads its numbers of threads from the environment
        from .tasks import stage

        return stage(folder, number, cpus)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
