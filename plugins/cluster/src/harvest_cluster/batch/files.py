"""The files of a batch: ``<directory>/<label>/`` for each of its jobs.

| path | contents |
|---|---|
| ``script.sh`` | script given to sbatch |
| ``job.json`` | name, working directory and command lines |
| ``submitted.json`` | each submission: Slurm's job id and, for an array, its tasks |
| ``state/<number>.json`` | state of the command of that number, written by its task |
| ``log/`` | output of the tasks |

JSON is written in ASCII, so that names that are not valid text are kept.
"""

import json
from pathlib import Path
from typing import Any, Final

import attrs

from harvest import DatasetError
from harvest.toolkit.files import write_atomically

JOB: Final = "job.json"
LOG: Final = "log"
SCRIPT: Final = "script.sh"
STATE: Final = "state"
SUBMITTED: Final = "submitted.json"


@attrs.frozen
class Submission:
    """One submission of a job.

    job_id: Slurm's job id; cluster: name of the cluster if sbatch named one, else "".
    tasks: numbers of the submitted array tasks; None for a job that is not an array.
    """

    job_id: int
    cluster: str
    tasks: tuple[int, ...] | None = attrs.field(
        converter=attrs.converters.optional(tuple[int, ...])
    )


def write(path: Path, document: Any) -> None:
    """Replace a JSON file atomically."""
    write_atomically(path, json.dumps(document).encode("ascii"))


def read(path: Path) -> Any:
    """Read a JSON file; return None if the file does not exist.

    Raises DatasetError for a damaged file.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        remedy = "remove the batch's directory and submit again"
        raise DatasetError(f"no valid JSON: {error}", where=str(path), remedy=remedy) from error
