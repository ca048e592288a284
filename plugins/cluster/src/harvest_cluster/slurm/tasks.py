"""Files of array tasks, readable by people: their work, and the errors that stopped them.

``<number>.json`` holds the bundle of one array task.  A task that cannot go on leaves
``<number>.error.json``, from which the waiting run raises the same error.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from harvest import Bundle, errors, interrupt
from harvest.engines import read_bundles
from harvest.errors import ExitCode, HarvestError, WorkerLost
from harvest_cluster.batch.files import write

_ERRORS: Final = {
    cls.__name__: cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, HarvestError)
}


def write_task(folder: Path, number: int, bundle: Bundle) -> None:
    """Write the bundle of an array task; create the folder with access for this user only.

    Raises the errors of ``Bundle.to_json``.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write(folder / f"{number}.json", bundle.to_json())


def write_error(folder: Path, number: int, error: BaseException) -> None:
    """Write the error that stopped an array task, for the run that waits for the task."""
    document: dict[str, Any]
    if isinstance(error, OSError):
        file = None if error.filename is None else str(error.filename)
        document = {"type": "OSError", "arguments": [error.errno, error.strerror, file]}
    else:
        if not isinstance(error, HarvestError):
            error = HarvestError(
                f"unexpected {type(error).__name__}: {error}",
                remedy="this is a defect: run with --engine local --debug and report the traceback",
            )
        names = [cls.__name__ for cls in type(error).__mro__]
        document = {
            "type": next(name for name in names if name in _ERRORS),
            "message": error.message,
            "where": error.where,
            "remedy": error.remedy,
        }
    write(_error_path(folder, number), document)


def stage(folder: Path, number: int, cpus: int) -> int:
    """Stage the task's partitions with ``cpus`` processes; return the exit code."""
    try:
        bundle = Bundle.from_json(json.loads((folder / f"{number}.json").read_bytes()))
        for result in read_bundles(bundle.split(), workers=cpus):
            for origin in result.origins:
                print(f"harvest: staged {origin}", flush=True)
            interrupt.check()
    except (MemoryError, HarvestError, OSError) as error:
        print(f"harvest: {error}", file=sys.stderr)
        if isinstance(error, MemoryError | WorkerLost):
            return ExitCode.FAILED  # a new attempt may succeed
        write_error(folder, number, error)
        return ExitCode.FAILED
    except Exception as error:
        write_error(folder, number, error)
        raise
    return ExitCode.DONE


def read_error(folder: Path, number: int) -> Exception | None:
    """Read the error that stopped an array task; return None if there is none."""
    try:
        document = json.loads(_error_path(folder, number).read_bytes())
    except FileNotFoundError:
        return None
    if document["type"] == "OSError":
        return OSError(*document["arguments"])
    cls = _ERRORS[document["type"]]
    return cls(document["message"], where=document["where"], remedy=document["remedy"])


def _error_path(folder: Path, number: int) -> Path:
    return folder / f"{number}.error.json"
