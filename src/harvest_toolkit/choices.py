"""Choose by names that a user gives, and refuse an unknown or ambiguous name."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from harvest import UsageError

__all__ = ["ChoiceNeeded", "choice_of_runs", "choices", "named_directory", "with_settings"]

SHOWN: Final = 10


class ChoiceNeeded(UsageError):
    """Raised where a user must choose some of several names.

    settings: the settings that each take a name; names: all names to choose from.
    """

    def __init__(
        self,
        message: str,
        *,
        settings: Iterable[str] = (),
        names: Iterable[str] = (),
        **more: str | None,
    ):
        super().__init__(message, **more)
        self.settings, self.names = tuple(settings), tuple(names)


def named_directory(directories: Iterable[str], wanted: str) -> str:
    """Return the directory of the run that ``wanted`` names, by its path or the end of it.

    Raises UsageError when no run or several runs have the name.
    """
    runs, name = sorted(directories), str(wanted).rstrip("/")
    chosen = [run for run in runs if run == name or run.endswith(f"/{name}")]
    if not chosen:
        raise UsageError(
            f"the dataset holds no run {name!r}", remedy=choices("choose one of", _names(runs))
        )
    if len(chosen) > 1:
        raise UsageError(
            f"{len(chosen)} runs are named {name!r}", remedy=choices("choose", _names(chosen))
        )
    return chosen[0]


def choice_of_runs(
    message: str, what: str, runs: Sequence[str], settings: Iterable[str]
) -> UsageError:
    """Return the error that asks for directories in ``settings``; what: how to choose, in words."""
    names = _names(runs)
    return ChoiceNeeded(message, remedy=choices(what, names), settings=settings, names=names)


def _names(runs: Sequence[str]) -> Sequence[str]:
    """Return the last names of directories, or their paths where two names are equal."""
    names = [run.rpartition("/")[2] or run for run in runs]
    return runs if len(set(names)) < len(names) else names


def choices(what: str, names: Sequence[str]) -> str:
    """List the names to choose from, at most the first ten."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{what}: {', '.join(names[:SHOWN])}{more}" if names else "the dataset holds none"


_BETWEEN: Final = re.compile(r",(?=\w+=)")


def with_settings(text: str, where: str | None = None) -> tuple[str, dict[str, str]]:
    """Split ``NAME`` or ``NAME:KEY=VALUE,KEY=VALUE`` into the name and its settings.

    Raises UsageError for any other text; where: the origin of the text.

    >>> with_settings("slurm.usage:by=user,account,month=last")
    ('slurm.usage', {'by': 'user,account', 'month': 'last'})
    """
    name, colon, rest = text.strip().partition(":")
    pairs = [each.partition("=") for each in _BETWEEN.split(rest)] if colon else []
    if not name or any(not key or not equals for key, equals, _ in pairs):
        remedy = "write NAME or NAME:KEY=VALUE, for example slurm.usage:by=account"
        raise UsageError(f"{text!r} has no NAME or no KEY=VALUE", where=where, remedy=remedy)
    return name, {key: value for key, _, value in pairs}
