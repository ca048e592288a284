"""Functions for workers in other processes, which import them from here."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
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
    """What a worker finds: an environment variable, its process, its directory, its libraries."""
    found = {"variable": os.environ.get(name), "pid": os.getpid(), "directory": str(Path.cwd())}
    return found | {"libraries": {"numpy", "polars", "pyarrow"} & set(sys.modules)}


def reporting(count: int, report: Any) -> int:
    for number in range(count):
        report(number)
    return count


class OfTwo(Exception):
    """An exception that pickle cannot make again."""

    def __init__(self, first: str, second: str):
        super().__init__(f"{first} and {second}")


def odd(number: int, report: Any) -> None:
    raise OfTwo("one", "two")


def chatty(name: str, report: Any) -> None:
    print(f"{name} said")
    print(f"{name} warned", file=sys.stderr)


def leaving(code: int, report: Any) -> None:
    os._exit(code)


def endless_but_first(path: str, report: Any) -> None:
    """The first call returns once another worker is in the second, and the others do not."""
    with contextlib.suppress(FileExistsError), open(f"{path}.first", "x"):  # noqa: PTH123
        while not Path(path).exists():
            time.sleep(0.02)
        return
    endless(path, report)


def endless(path: str, report: Any) -> None:
    with open(path, "a") as file:  # noqa: PTH123
        file.write(f"{os.getpid()}\n")
    while True:
        time.sleep(0.05)
