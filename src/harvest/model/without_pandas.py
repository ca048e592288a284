"""pyarrow without pandas, until somebody imports pandas.

At the first array that it makes, pyarrow imports pandas where that is installed, to know its
objects: a third to half a second of every command and of every worker, none of which has a pandas
object.  ``defer`` lets pyarrow find that there is none, and tells it as soon as pandas is imported
after all.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pyarrow as pa

__all__ = ["defer"]

_NAME = "pandas"


def defer() -> None:
    """Spare this process the import of pandas; without effect where it is imported already."""
    if _NAME in sys.modules:
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    pa.scalar(0)
    finder.hidden = False


class _Finder(MetaPathFinder):
    """Hides pandas, then waits for the first import of it."""

    hidden = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _NAME:
            return None
        if self.hidden:
            raise ModuleNotFoundError(f"{_NAME} is not needed yet", name=_NAME)
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(_NAME)
        if spec is not None and spec.loader is not None:
            _tell_afterwards(spec.loader)
        return spec


def _tell_afterwards(loader: Any) -> None:
    load = loader.exec_module

    def load_and_tell(module: ModuleType) -> None:
        del loader.exec_module
        load(module)
        pa.nulls(0).to_pandas()  # makes pyarrow ask for pandas again, and keep what it finds

    loader.exec_module = load_and_tell
