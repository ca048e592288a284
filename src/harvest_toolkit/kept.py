"""What several views ask of one dataset, found out once.

A report and its rules need the same choice of a run, the same listing of scans.  Here
it is kept as long as the dataset that it was found in:

    def runs_of(dataset):
        return kept(dataset, "example.runs", lambda: look_for_runs(dataset))
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

from harvest import DatasetReader

__all__ = ["kept"]

T = TypeVar("T")


def kept(dataset: DatasetReader, key: Hashable, find: Callable[[], T]) -> T:
    """What ``find`` gives, called once for a dataset and a key; it is small, and not changed.

    key: begins with a name that no other caller uses; what ``find`` depends on follows.
    Where ``find`` raises, nothing is kept.
    """
    known = _KNOWN.setdefault(dataset, {})
    if key not in known:
        known[key] = find()
    return cast(T, known[key])


_KNOWN: WeakKeyDictionary[DatasetReader, dict[Hashable, object]] = WeakKeyDictionary()
