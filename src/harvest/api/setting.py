"""Settings of views and reports: what each means, its type, its default and what it may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs


@attrs.frozen
class Setting:
    """A setting of a view or report.

    doc: what it means.
    type: of its values, written as the fields of a source's ``Config`` are (``int``,
        ``tuple[str, ...]``); text from the command line is read as one.
    default: its value unless given; None where the view or report decides.
    check: raises ValueError for a value that is not allowed, such as ``at_least(1)`` of
        ``harvest.toolkit.settings``.
    """

    doc: str
    type: Any = Any
    default: Any = None
    check: Callable[[Any], None] | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """All values, where these are some words."""
        if self.type is bool:
            return ("true", "false")
        return tuple(getattr(self.check, "choices", ()))

    @property
    def allowed(self) -> str:
        """What is allowed of its type, in words."""
        return str(getattr(self.check, "allowed", ""))


def by_name(declared: Mapping[str, Setting | str]) -> dict[str, Setting]:
    """Settings by name; one that is declared with what it means alone takes any value."""
    return {
        name: setting if isinstance(setting, Setting) else Setting(setting)
        for name, setting in declared.items()
    }
