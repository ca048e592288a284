"""The script that sbatch gets: directives of checked words, the user's set-up, one fixed command.

It names no path but the interpreter's: sbatch gets the job's directory as an argument, and the
script starts there.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from .job import Job, python


def render(job: Job, directory: Path) -> str:
    """The script of a job that is started in ``directory``, which holds its files."""
    log = "%A_%a.out" if job.is_array else "%j.out"
    # Slurm takes % and \ in the whole path, the directory included, for its own
    plain = not set("%\\") & set(str(directory))
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={job.label}",
        f"#SBATCH --output={f'log/{log}' if plain else '/dev/null'}",
        "#SBATCH --open-mode=append",
        f"#SBATCH --{'' if job.requeue else 'no-'}requeue",
    ]
    if job.is_array:
        limit = f"%{job.array_limit}" if job.array_limit else ""
        lines.append(f"#SBATCH --array=0-{job.tasks - 1}{limit}")
    lines += [f"#SBATCH {directive}" for directive in job.options.directives()]
    lines += ["", "batch_directory=$PWD"]
    if not plain:
        lines += [
            "task=${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}",
            'exec >>"log/${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}$task.out" 2>&1',
        ]
    if job.options.env_setup.strip():
        lines.append(job.options.env_setup.rstrip("\n"))
    lines.append(f'exec {shlex.join(python("harvest_cluster.batch.element"))} "$batch_directory"')
    return "\n".join(lines) + "\n"
