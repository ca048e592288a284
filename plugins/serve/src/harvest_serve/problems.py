"""What went wrong, as it is reported: message, where, remedy, and the status of HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from harvest import ConfigError, DatasetChanged, DatasetError, HarvestError, PluginError, UsageError
from harvest.errors import UnknownTypeError
from harvest_toolkit.choices import ChoiceNeeded


class NotFound(UsageError):
    """There is nothing of this name: no dataset, table, report or page."""


class Refused(HarvestError):
    """What is asked is more than the server gives: time, memory, rows, or its turn.

    status: of HTTP; 422 where it is the question's size, 503 where a later try may do.
    """

    def __init__(self, message: str, *, status: int = 422, **more: str | None) -> None:
        super().__init__(message, **more)
        self.status = status


class Busy(Refused):
    """Too many questions at the same time; a later try may do."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=503, remedy="try again in a moment")


class Damaged(DatasetError):
    """A dataset cannot be read.

    problems: what ``harvest verify`` says of it, a sentence each.
    """

    def __init__(self, message: str, *, where: str, problems: Sequence[str], remedy: str) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.problems = tuple(problems)


@attrs.frozen(kw_only=True)
class Problem:
    """An error in words.

    message: what is wrong; where: in which file, setting or text; remedy: what to do.
    status: of HTTP.
    problems: of a damaged dataset, what ``harvest verify`` says, a sentence each.
    settings, names: where some of several are to be chosen, the settings that each take a name.
    """

    message: str
    where: str | None = None
    remedy: str | None = None
    status: int = 500
    problems: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As a program gets it."""
        found: dict[str, Any] = {
            "message": self.message,
            "where": self.where,
            "remedy": self.remedy,
        }
        if self.problems:
            found["problems"] = list(self.problems)
        if self.settings:
            found |= {"settings": list(self.settings), "names": list(self.names)}
        return found


def problem_of(error: BaseException) -> Problem:
    """An error in words; what nobody foresaw is named by its kind alone, for it may hold paths."""
    if not isinstance(error, HarvestError):
        return Problem(
            message=f"the server failed ({type(error).__name__})",
            remedy="what it printed says more; please report it",
        )
    return Problem(
        message=error.message,
        where=error.where,
        remedy=error.remedy,
        status=_status(error),
        problems=error.problems if isinstance(error, Damaged) else (),
        settings=error.settings if isinstance(error, ChoiceNeeded) else (),
        names=error.names if isinstance(error, ChoiceNeeded) else (),
    )


_STATUS: Final = (
    ((NotFound, UnknownTypeError), 404),
    ((UsageError, ConfigError), 400),
    ((DatasetChanged,), 503),
    ((Damaged, PluginError), 500),
    ((DatasetError,), 503),
)
"""Of each kind of error; the first that it is."""


def _status(error: HarvestError) -> int:
    if isinstance(error, Refused):
        return error.status
    return next((status for kinds, status in _STATUS if isinstance(error, kinds)), 500)
