"""Asking a dataset that others may write to meanwhile: an answer is of one whole state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from harvest.dataset import Dataset
from harvest.dataset import open as open_dataset
from harvest.errors import DatasetChanged, DatasetError, UsageError
from harvest.plugins.building import names_for
from harvest.plugins.registry import PluginManager
from harvest.toolkit.texts import shell_word

__all__ = ["answer", "named"]

ATTEMPTS: Final = 50
"""Commits that may come in between, one for each time that is asked."""

SHOWN: Final = 6
"""Views or reports of a dataset that are named at most."""

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


def named(kind: str, name: str, dataset: Path | None, plugins: PluginManager) -> tuple[Any, Path]:
    """The view or report of a name and the dataset it is asked of, as the command line gives them.

    Raises UsageError where one of them is absent, or a dataset stands where the name belongs.
    """
    declared = getattr(plugins, f"{kind}s")
    if name in declared or not (there := _opened(name)):
        spec = getattr(plugins, kind)(name)
        if dataset is None:
            raise UsageError("which dataset?", remedy=f"write: harvest {kind} {name} DATASET")
        return spec, dataset
    meant = [str(dataset)] if str(dataset) in declared else names_for(declared, there)
    also = f", or another {kind}: {', '.join(meant[1:SHOWN])}" if len(meant) > 1 else ""
    raise UsageError(
        f"this is a dataset, where the name of a {kind} belongs",
        where=name,
        remedy=f"write: harvest {kind} {meant[0]} {shell_word(name)}{also}" if meant else None,
    )


def _opened(location: str) -> Dataset | None:
    try:
        return open_dataset(location)
    except (DatasetError, UsageError):
        return None
