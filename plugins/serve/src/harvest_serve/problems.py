"""Errors as they are reported: message, where, remedy, and HTTP status."""

from collections.abc import Sequence
from typing import Any, Final

import attrs

from harvest import ConfigError, DatasetChanged, DatasetError, HarvestError, PluginError, UsageError
from harvest.errors import UnknownTypeError


class NotFound(UsageError):
    """No dataset, table, report or page has this name."""


class Refused(HarvestError):
    """A question that exceeds a limit: time, memory, rows, or turns.

    status: of HTTP; 422 for the question's size, 503 where a later try may succeed.
    """

    def __init__(self, message: str, *, status: int = 422, **more: str | None) -> None:
        super().__init__(message, **more)
        self.status = status


class Damaged(DatasetError):
    """A dataset that cannot be read.

    problems: what ``harvest verify`` says, a sentence each.
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
    settings, names: where a choice is needed, the settings that each take one of the names.
    """

    message: str
    where: str | None = None
    remedy: str | None = None
    status: int = 500
    problems: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that programs get."""
        fields = attrs.asdict(self)
        return {name: each for name, each in fields.items() if name != "status" and each != ()}


def problem_of(error: BaseException) -> Problem:
    """Describe an error; an unexpected one only by its type, because its text may hold paths."""
    if not isinstance(error, HarvestError):
        return Problem(
            message=f"the server failed ({type(error).__name__})",
            remedy="what it printed says more; please report it",
        )
    status = next((status for kinds, status in _STATUS if isinstance(error, kinds)), 500)
    said = {name: each for name, each in vars(error).items() if name in _FIELDS}
    return Problem(**{"status": status, **said})


_FIELDS: Final = attrs.fields_dict(Problem)
_STATUS: Final = (
    ((NotFound, UnknownTypeError), 404),
    ((UsageError, ConfigError), 400),
    ((DatasetChanged,), 503),
    ((Damaged, PluginError), 500),
    ((DatasetError,), 503),
)
"""The HTTP status of each kind of error; the first match counts."""
