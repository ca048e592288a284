"""What one array task of the engine ``slurm`` runs.

``python -m harvest_cluster.slurm.worker FOLDER NUMBER``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from harvest import interrupt
from harvest.errors import ExitCode


def main() -> int:
    """Work; exit code 0 when all is staged, 1 when an error was kept, another when interrupted."""
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    cpus = int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    os.environ.setdefault("POLARS_MAX_THREADS", str(cpus))
    os.environ.setdefault("OMP_NUM_THREADS", str(cpus))
    interrupt.install()
    try:
        # late: it comes with Arrow, which takes its numbers of threads from the environment
        from .tasks import stage

        return stage(folder, number, cpus)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
