"""The capture directory: the process that starts a capture writes ``capture.json`` for others."""

import json
import os
import re
import secrets
import socket
import time
from pathlib import Path
from typing import Any, Final

from ..settings import CaptureError

MARK: Final = "capture.json"
VERSION: Final = 1


def create_capture(directory: str) -> str:
    """Create a capture in a directory and return its id; raises CaptureError if that fails."""
    if find_capture(directory) is not None:
        raise CaptureError(f"{directory} already holds a capture: name another directory")
    created, own = _write(directory)
    if not own:
        raise CaptureError(
            f"{directory} is already a capture of another process: name another directory"
        )
    return created


def join_capture(directory: str) -> str:
    """Return the id of a directory's capture; create one if needed. Raises CaptureError."""
    return find_capture(directory) or _write(directory)[0]


def process_id() -> str:
    """Return a name that is unique for each start of a process and valid in file names."""
    host = re.sub(r"[^A-Za-z0-9_.]", "-", socket.gethostname()) or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(4)}"


def file_name(role: str, process: str) -> str:
    """Return the file name of a process."""
    return f"{role}-{process}.cap"


def find_capture(directory: str) -> str | None:
    """Return the id of the capture in a directory; None if this machine sees no capture there.

    Raises CaptureError if ``capture.json`` cannot be read.
    """
    path = Path(directory, MARK)
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CaptureError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise CaptureError(f"{path} is not a capture's file: {error}") from error
    known: dict[str, Any] = found if isinstance(found, dict) else {}
    if known.get("harvest_dask") != VERSION or not isinstance(known.get("id"), str):
        raise CaptureError(f"{path} is not of a capture of version {VERSION}")
    return str(known["id"])


def _write(directory: str) -> tuple[str, bool]:
    """Write ``capture.json`` atomically unless it exists; return its id and whether it is ours."""
    new = secrets.token_hex(8)
    target = Path(directory, MARK)
    part = Path(directory, f".{MARK}.{new}")
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"harvest_dask": VERSION, "created": time.time(), "id": new}))
        try:
            os.link(part, target)  # unlike a rename, a link never replaces another process's file
        except FileExistsError:
            found = find_capture(directory)
            if found is None:
                raise
            return found, False
        finally:
            part.unlink()
    except OSError as error:
        raise CaptureError(f"cannot write {target}: {error.strerror}") from error
    return new, True
