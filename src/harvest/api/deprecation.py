"""Taking names out of the plugin API: slowly, and telling authors what to write instead.

What is deprecated goes on working as the policy in ``docs/compatibility.md`` says, and warns with
a :class:`HarvestDeprecationWarning` once for each package that uses it.  Python hides such warnings
from users, who could do nothing about them; pytest shows them to the package's author, and
``harvest plugins check`` to everybody.

    @deprecated(since="1.4", until="2.0", remedy="call read_table()")
    def read_rows(path): ...
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["HarvestDeprecationWarning", "deprecated", "used_by", "warn_once"]

P = ParamSpec("P")
R = TypeVar("R")

_told: dict[tuple[str, str], str] = {}


class HarvestDeprecationWarning(DeprecationWarning):
    """A plugin uses a part of the API that will go."""


def warn_once(what: str, *, since: str, until: str, remedy: str, stacklevel: int = 1) -> None:
    """Warn the package that called our caller that it uses something deprecated.

    what: in the words of the API (``harvest.Source.list()``).
    since: the release that deprecates it; until: the first that no longer has it.
    remedy: what to write instead.
    stacklevel: frames between this call and the user's, as for ``warnings.warn``.
    """
    user = sys._getframe(stacklevel + 1)
    package = str(user.f_globals.get("__name__", "?")).partition(".")[0]
    if (what, package) in _told:
        return
    message = f"{what} is deprecated since harvest {since} and goes with {until}; {remedy}"
    _told[what, package] = message
    warnings.warn(message, HarvestDeprecationWarning, stacklevel=stacklevel + 2)


def deprecated(
    *, since: str, until: str, remedy: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as deprecated: whoever calls it is told once, with the remedy."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        what = f"{function.__module__}.{function.__qualname__}()"

        @functools.wraps(function)
        def told(*args: P.args, **kwargs: P.kwargs) -> R:
            warn_once(what, since=since, until=until, remedy=remedy)
            return function(*args, **kwargs)

        return told

    return decorate


def used_by(*packages: str) -> list[str]:
    """What these top-level packages were warned of in this process."""
    return sorted(message for (_, package), message in _told.items() if package in packages)
