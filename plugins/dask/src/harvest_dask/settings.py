"""Settings of a capture: plain values that are sent to the scheduler and the workers.

Preloads read them from Dask's configuration, ``harvest.capture``; so the environment variable
``DASK_HARVEST__CAPTURE__DIRECTORY`` sets the directory.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import dask.config

PREFIX: Final = "harvest.capture"
"""Prefix of the settings in Dask's configuration."""

TOPIC: Final = "harvest-capture"
"""Topic of the Dask events with which a process reports that it records nothing."""

LONGEST_FLUSH: Final = 1.0
"""Maximum seconds of rows that a killed process may lose."""


class CaptureError(Exception):
    """A capture cannot start with these settings."""


@dataclass(frozen=True)
class Settings:
    """Settings of one capture; ``capture`` is the id in its directory's ``capture.json``."""

    directory: str
    interval: float = 1.0
    flush: float = 0.5
    via: str | None = None
    yappi: str | None = None
    queue: int = 1_000_000
    capture: str | None = None
    owner: str | None = None
    """The client that ends the capture; None if it lasts as long as the cluster."""

    def __post_init__(self) -> None:
        if not _is_positive(self.interval):
            raise CaptureError(f"interval is {self.interval!r}: give seconds, more than 0")
        if not _is_positive(self.flush) or self.flush > LONGEST_FLUSH:
            raise CaptureError(
                f"flush is {self.flush!r}: give seconds, more than 0 and at most {LONGEST_FLUSH}"
            )
        if self.via not in (None, "scheduler"):
            raise CaptureError(f"via is {self.via!r}: give 'scheduler', or leave it out")
        if self.yappi not in (None, "cpu", "wall"):
            raise CaptureError(f"yappi is {self.yappi!r}: give 'cpu' or 'wall', or leave it out")
        if self.yappi is not None and self.via is not None:
            raise CaptureError("yappi needs a directory that the workers share: leave via out")
        if not isinstance(self.queue, int) or self.queue < 1:
            raise CaptureError(f"queue is {self.queue!r}: give a number of rows, 1 or more")

    @property
    def name(self) -> str:
        """Name of this capture's plugins in Dask."""
        return f"harvest-capture-{self.capture}"


def settings_from_dask() -> Settings:
    """Read the settings of a preload; raises CaptureError for invalid ones."""
    directory = dask.config.get(f"{PREFIX}.directory", None)
    if not directory:
        raise CaptureError(
            f"no directory for the capture: set {PREFIX}.directory in Dask's configuration or "
            "DASK_HARVEST__CAPTURE__DIRECTORY in the environment"
        )
    names = ("interval", "flush", "via", "queue", "yappi")
    found = {name: dask.config.get(f"{PREFIX}.{name}", None) for name in names}
    chosen = {name: value for name, value in found.items() if value is not None}
    return Settings(directory=absolute(str(directory)), **chosen)


def absolute(directory: str | os.PathLike[str]) -> str:
    """Return the absolute path of a directory, valid in every process."""
    return os.path.abspath(Path(directory).expanduser())  # noqa: PTH100  links stay as they are


def darshan_environment(
    directory: str | os.PathLike[str],
    library: str | os.PathLike[str],
    *,
    log_variable: str = "DARSHAN_LOG_DIR_PATH",
) -> dict[str, str]:
    """Return environment variables with which a process without MPI writes its Darshan log.

    Set them before a worker's process starts: as ``env`` of ``LocalCluster``, as lines of
    ``job_script_prologue`` of dask-jobqueue, or as Dask's ``distributed.nanny.pre-spawn-environ``.

    directory: directory of the logs. library: path of ``libdarshan.so``. log_variable: name of the
    variable for the directory, chosen when Darshan is built (``--with-log-path-by-env``).
    """
    return {
        "LD_PRELOAD": os.fspath(library),
        "DARSHAN_ENABLE_NONMPI": "1",
        "DXT_ENABLE_IO_TRACE": "1",
        log_variable: os.path.abspath(directory),  # noqa: PTH100  links stay as they are
    }


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and value is not True and 0 < value < math.inf
