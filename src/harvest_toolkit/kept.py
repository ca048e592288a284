"""Cache results that several views need of one dataset.

A report and its rules need the same choice of a run or the same listing of scans.  The cache lives
as long as the dataset:

    def runs_of(dataset):
        return kept(dataset, "example.runs", lambda: look_for_runs(dataset))
"""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import polars as pl

from harvest import DatasetReader

__all__ = ["kept"]

T = TypeVar("T")


def kept(
    dataset: DatasetReader, key: Hashable, find: Callable[[], T], most: int | None = None
) -> T:
    """Return the result of ``find``, which is called once for a dataset and a key.

    key: begins with a name that no other caller uses, followed by all that ``find`` depends on.
    most: maximum number of rows of a frame that is cached; without it, the result must be small.
    Callers must not change the result.  Exceptions are not cached.
    """
    known = _KNOWN.setdefault(dataset, {})
    if key not in known:
        found = find()
        if most is not None and isinstance(found, pl.DataFrame) and found.height > most:
            return found
        known[key] = found
    return cast(T, known[key])


_KNOWN: WeakKeyDictionary[DatasetReader, dict[Hashable, object]] = WeakKeyDictionary()
