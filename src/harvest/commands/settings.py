"""What options add up to: settings of plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harvest.errors import UsageError
from harvest.recipes.recipe import parse_setting

__all__ = ["key_values", "plugin_settings", "refuse_without"]


def plugin_settings(texts: Iterable[str] | None) -> dict[str, dict[str, str]]:
    """``NAME.KEY=VALUE`` texts as settings by plugin; raises ConfigError for another text."""
    given: dict[str, dict[str, str]] = {}
    for text in texts or ():
        name, key, value = parse_setting(text)
        _take(given.setdefault(name, {}), key, value, f"{name}.{key}")
    return given


def key_values(texts: Iterable[str] | None) -> dict[str, str]:
    """``KEY=VALUE`` texts as settings; raises UsageError for another text."""
    given: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} is not a setting", remedy="write --set KEY=VALUE")
        _take(given, key, value, key)
    return given


def _take(given: dict[str, str], key: str, value: str, shown: str) -> None:
    """Add a setting that is not there yet with another value."""
    if given.setdefault(key, value) != value:
        raise UsageError(
            f"the setting {shown} is given as {given[key]!r} and as {value!r}",
            remedy="give it once",
        )


def refuse_without(switch: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for an option that was given and means nothing without a switch."""
    for option, value in options.items():
        if value:
            raise UsageError(f"{option} is for {switch}, which is not given")
