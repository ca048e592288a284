"""Names that a user gives, of those that there are; one that is not among them is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from harvest import UsageError

__all__ = ["choices", "named_directory", "run_choices"]

SHOWN: Final = 10


def named_directory(directories: Iterable[str], wanted: str) -> str:
    """The directory of a run that a setting names, by its path or the last parts of it.

    Raises UsageError when none or several bear the name.
    """
    runs, name = sorted(directories), str(wanted).rstrip("/")
    chosen = [run for run in runs if run == name or run.endswith(f"/{name}")]
    if not chosen:
        raise UsageError(
            f"the dataset holds no run {name!r}", remedy=run_choices("choose one of", runs)
        )
    if len(chosen) > 1:
        raise UsageError(
            f"{len(chosen)} runs are named {name!r}", remedy=run_choices("choose", chosen)
        )
    return chosen[0]


def run_choices(what: str, runs: Sequence[str]) -> str:
    """The names of the directories of which one is to be chosen; whole paths where names agree."""
    names = [run.rpartition("/")[2] or run for run in runs]
    return choices(what, runs if len(set(names)) < len(names) else names)


def choices(what: str, names: Sequence[str]) -> str:
    """The names of which one is to be chosen, or the first of them."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{what}: {', '.join(names[:SHOWN])}{more}" if names else "the dataset holds none"
