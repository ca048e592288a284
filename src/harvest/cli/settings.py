"""What several commands do alike: reading settings, and listing what plugins declare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harvest.errors import UsageError
from harvest.run.recipe import parse_setting

from .tables import print_json, print_table

__all__ = ["key_values", "plugin_settings", "print_declared"]


def plugin_settings(texts: Iterable[str] | None) -> dict[str, dict[str, str]]:
    """``NAME.KEY=VALUE`` texts as settings by plugin; raises ConfigError for another text."""
    given: dict[str, dict[str, str]] = {}
    for text in texts or ():
        name, key, value = parse_setting(text)
        given.setdefault(name, {})[key] = value
    return given


def key_values(texts: Iterable[str] | None) -> dict[str, str]:
    """``KEY=VALUE`` texts as settings; raises UsageError for another text."""
    given: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} is no setting", remedy="write --set KEY=VALUE")
        given[key] = value
    return given


def print_declared(kind: str, specs: Sequence[Any], *, json: bool) -> None:
    """Views or reports with what they show and the settings they take."""
    if json:
        print_json([{"name": s.name, "doc": s.doc, "settings": dict(s.settings)} for s in specs])
    else:
        print_table(
            (kind, "description", "settings"),
            [(s.name, s.doc, ", ".join(s.settings)) for s in specs],
        )
