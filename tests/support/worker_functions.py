"""Functions for workers in other processes, which import them from here."""

from __future__ import annotations

import os
import signal
from typing import Any

from harvest.errors import TooManyRejects


def doubled(number: int, report: Any) -> int:
    return 2 * number


def refused(number: int, report: Any) -> None:
    raise TooManyRejects("more than 3 rejects", where=f"file {number}", remedy="look")


def full(number: int, report: Any) -> None:
    raise OSError(28, "No space left on device", "/data/x")


def deadly(number: int, report: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def tasks_of(dask_scheduler: Any) -> list[str]:
    """The tasks that a scheduler knows, for ``Client.run_on_scheduler``."""
    return list(map(str, dask_scheduler.tasks))


class OnlyHere:
    """Something that a worker cannot be sent: it is refused there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _import_what_is_not_there, ()


def _import_what_is_not_there() -> None:
    import package_of_another_environment  # noqa: F401


def told_of_itself(name: str, report: Any) -> dict[str, Any]:
    """What a worker finds: an environment variable, its process, its modules at the start."""
    import sys

    return {
        "variable": os.environ.get(name),
        "pid": os.getpid(),
        "parent": os.getppid(),
        "polars": "polars" in sys.modules,
        "pyarrow": "pyarrow" in sys.modules,
    }


def modules_there(names: list[str], report: Any) -> list[str]:
    """Which of these modules a worker has imported already."""
    import sys

    return [name for name in names if name in sys.modules]


def endless(path: str, report: Any) -> None:
    import time

    with open(path, "a") as file:  # noqa: PTH123
        file.write(f"{os.getpid()}\n")
    while True:
        time.sleep(0.05)
