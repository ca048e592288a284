"""Settings of views and reports: those that a request may give, and their descriptions."""

from collections.abc import Mapping
from datetime import date, datetime
from types import EllipsisType, NoneType
from typing import Any, Final, get_args

from harvest import ReportSpec, Setting, UsageError, View
from harvest.commands.declared import settings_of

_PLAIN: Final = (bool, int, float, str, date, datetime)


def offered_settings(of: View | ReportSpec) -> dict[str, Setting]:
    """Return the settings that a request may give: numbers, texts, times and booleans.

    Any other setting may be the path of a file, and the server opens no file for a request.
    """
    return {name: each for name, each in of.settings.items() if _is_plain(each.type)}


def _is_plain(kind: Any) -> bool:
    inner = [each for each in get_args(kind) if each not in (Ellipsis, EllipsisType, NoneType)]
    return all(map(_is_plain, inner)) if inner else kind in _PLAIN


def check_settings(of: View | ReportSpec, given: Mapping[str, Any]) -> None:
    """Raise UsageError for a declared setting that a request may not give."""
    for name in given:
        if name in of.settings and name not in offered_settings(of):
            raise UsageError(
                f"{name} of {of.name} may be a file, and the server opens none for a request",
                where=name,
                remedy=f"give it when the server starts: --set {of.name}.{name}=FILE",
            )


def settings_in_words(of: View | ReportSpec) -> list[dict[str, Any]]:
    """Describe the settings that a request may give, for programs."""
    offered = offered_settings(of)
    return [
        {
            "name": shown.name,
            "doc": shown.doc,
            "type": getattr(each.type, "__name__", str(each.type)),
            "default": shown.default,
            "choices": each.choices,
            "allowed": each.allowed,
        }
        for shown, each in zip(settings_of(offered), offered.values(), strict=True)
    ]


def settings_key(settings: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Return settings as a hashable part of a cache key."""
    return tuple(sorted((key, str(value)) for key, value in (settings or {}).items()))
