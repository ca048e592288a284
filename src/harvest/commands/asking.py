"""Asking a dataset that others may write to meanwhile: an answer is of one whole state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from harvest.dataset import Dataset
from harvest.dataset import open as open_dataset
from harvest.errors import DatasetChanged, UsageError

__all__ = ["answer"]

ATTEMPTS: Final = 50
"""Commits that may come in between, one for each time that is asked."""

_Answer = TypeVar("_Answer")


def answer(location: Path, ask: Callable[[Dataset], _Answer]) -> _Answer:
    """What a question, which may be asked again, gives of the state in force.

    It is asked of the next state where it fails since a commit took files of its own away; raises
    what it raises otherwise.
    """
    for _ in range(ATTEMPTS):
        opened = open_dataset(location)
        try:
            return ask(opened)
        except UsageError:
            raise
        except DatasetChanged:
            continue
        except Exception:
            # whatever it is that a library says of a file that is gone
            if opened.is_current():
                raise
    return ask(open_dataset(location))
