"""Names that a user gives, of those that there are; one that is not among them is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from harvest import UsageError

__all__ = [
    "ChoiceNeeded",
    "choice_of_runs",
    "choices",
    "named_directory",
    "run_choices",
    "with_settings",
]

SHOWN: Final = 10


class ChoiceNeeded(UsageError):
    """Some of several names are to be chosen.

    settings: of the view or report, each of which takes a name; names: all that there are.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        remedy: str | None = None,
        settings: Iterable[str] = (),
        names: Iterable[str] = (),
    ):
        super().__init__(message, where=where, remedy=remedy)
        self.settings, self.names = tuple(settings), tuple(names)


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
    """The names of the directories to choose one from; whole paths where names agree."""
    return choices(what, _names(runs))


def choice_of_runs(
    message: str, what: str, runs: Sequence[str], settings: Iterable[str]
) -> UsageError:
    """The error where settings are to name some of these directories; what: how, in words."""
    remedy = run_choices(what, runs)
    return ChoiceNeeded(message, remedy=remedy, settings=settings, names=_names(runs))


def _names(runs: Sequence[str]) -> Sequence[str]:
    names = [run.rpartition("/")[2] or run for run in runs]
    return runs if len(set(names)) < len(names) else names


def choices(what: str, names: Sequence[str]) -> str:
    """The names to choose one from, or the first of them."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{what}: {', '.join(names[:SHOWN])}{more}" if names else "the dataset holds none"


_BETWEEN: Final = re.compile(r",(?=\w+=)")


def with_settings(text: str, where: str | None = None) -> tuple[str, dict[str, str]]:
    """The name of a view or report, and its settings: ``NAME`` or ``NAME:KEY=VALUE,KEY=VALUE``.

    Raises UsageError for another text; where: what gave it.

    >>> with_settings("slurm.usage:by=user,account,month=last")
    ('slurm.usage', {'by': 'user,account', 'month': 'last'})
    """
    name, colon, rest = text.strip().partition(":")
    pairs = [each.partition("=") for each in _BETWEEN.split(rest)] if colon else []
    if not name or any(not key or not equals for key, equals, _ in pairs):
        raise UsageError(
            f"{text!r} has no NAME or no KEY=VALUE",
            where=where,
            remedy="write NAME or NAME:KEY=VALUE, for example slurm.usage:by=account",
        )
    return name, {key: value for key, _, value in pairs}
