"""What array tasks are to do, and what stopped them, as files that a person can read.

``<number>.json`` holds the bundle of one array task.  A task that cannot go on leaves
``<number>.error.json``, from which the waiting run raises the same error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from harvest import Bundle, errors
from harvest.errors import HarvestError
from harvest.toolkit.files import write_atomically

_ERRORS: Final = {
    cls.__name__: cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, HarvestError)
}


def write_task(folder: Path, number: int, bundle: Bundle) -> None:
    """Write what an array task is to do; the folder is made for this user alone.

    Raises as ``Bundle.to_json``.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(folder / f"{number}.json", bundle.to_json())


def read_task(folder: Path, number: int) -> Bundle:
    """What an array task is to do; raises as ``Bundle.from_json``."""
    return Bundle.from_json(json.loads((folder / f"{number}.json").read_bytes()))


def write_error(folder: Path, number: int, error: BaseException) -> None:
    """Keep what stopped an array task, for the run that waits for it."""
    document: dict[str, Any]
    if isinstance(error, HarvestError):
        names = [cls.__name__ for cls in type(error).__mro__]
        document = {
            "type": next(name for name in names if name in _ERRORS),
            "message": error.message,
            "where": error.where,
            "remedy": error.remedy,
        }
    elif isinstance(error, OSError):
        file = None if error.filename is None else str(error.filename)
        document = {"type": "OSError", "arguments": [error.errno, error.strerror, file]}
    else:
        document = {
            "type": "HarvestError",
            "message": f"unexpected {type(error).__name__}: {error}",
            "where": None,
            "remedy": "this is a defect: run with --engine local --debug and report the traceback",
        }
    _write(_error_path(folder, number), document)


def read_error(folder: Path, number: int) -> Exception | None:
    """The error that stopped an array task; None where there is none."""
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


def _write(path: Path, document: Any) -> None:
    # ASCII: names that are not text survive
    write_atomically(path, json.dumps(document).encode("ascii"))
