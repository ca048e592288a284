"""Query a dataset while others may write to it: an answer comes from one whole state."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from harvest.dataset import Dataset
from harvest.dataset import open as open_dataset
from harvest.errors import DatasetChanged, DatasetError, UsageError, system_reason

__all__ = ["answer"]

ATTEMPTS: Final = 50
"""Maximum number of attempts, since each may be disturbed by a commit."""

_Answer = TypeVar("_Answer")


def answer(location: Path, ask: Callable[[Dataset], _Answer]) -> _Answer:
    """Return the answer of a repeatable query on the state in force.

    If a commit removes files during a query, ask again on the next state. Other errors are passed
    on.
    """
    for _ in range(ATTEMPTS):
        opened = open_dataset(location)
        try:
            return ask(opened)
        except UsageError:
            raise
        except DatasetChanged:
            continue
        except Exception as error:
            # libraries raise various errors for a missing file
            if opened.is_current() and isinstance(error, FileNotFoundError):
                remedy = "`harvest verify` names the missing files of a dataset"
                raise DatasetError(system_reason(error), remedy=remedy) from error
            if opened.is_current():
                raise
    return ask(open_dataset(location))
