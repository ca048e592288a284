"""Convert ``NAME.KEY=VALUE`` and TOML to settings of plugins, views and reports.

A source, sink or engine declares its settings as an attrs class, a view or report as Setting by
name. Values from the command line are text; values from a recipe or Python are typed. Both become
values of the declared types, or a ConfigError with the name of the setting.
"""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import attrs
import cattrs

from harvest.errors import ConfigError, suggestion

from .view import Setting

_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off"))


def structure(cls: type, values: Mapping[str, Any], *, plugin: str) -> Any:
    """Build an instance of the settings class ``cls`` from plain values.

    values: key -> text or typed value; a dotted key (``clock_offset.1``) fills a mapping.

    Raises ConfigError with the name of an unknown or unsuitable setting.
    """
    fields = {a.name: a for a in attrs.fields(cls)}
    hints = typing.get_type_hints(cls)
    found: dict[str, Any] = {}
    for key, value in values.items():
        name, dot, rest = key.replace("-", "_").partition(".")
        if name not in fields:
            problem = f"{plugin!r} has no setting {key!r}"
            remedy = suggestion(name, fields) if fields else "it has no settings"
            raise ConfigError(problem, where=f"{plugin}.{key}", remedy=remedy)
        if dot:
            found.setdefault(name, {})[rest] = value
        elif isinstance(value, Mapping) and isinstance(found.get(name), dict):
            found[name].update(value)
        else:
            found[name] = value
    made: dict[str, Any] = {}
    for name, value in found.items():
        with _naming_setting(plugin, name, _doc(fields[name]), value):
            if typing.get_origin(hints[name]) is dict and not isinstance(value, Mapping):
                raise ValueError(f"must be given by key: {name}.KEY=VALUE")
            made[name] = _converter().structure(value, hints[name])
    # validators may compare several settings
    whole = SimpleNamespace(**{name: made.get(name, default_of(fields[name])) for name in fields})
    for name, value in found.items():
        if (check := fields[name].validator) is not None:
            with _naming_setting(plugin, name, _doc(fields[name]), value):
                check(whole, fields[name], made[name])
    try:
        return cls(**made)
    except (ValueError, TypeError) as error:
        raise ConfigError(str(error), where=plugin) from error


def typed(
    settings: Mapping[str, Setting], values: Mapping[str, Any], *, name: str
) -> dict[str, Any]:
    """Convert values of declared settings to their types; add defaults of missing ones.

    name: name of the view or report, for errors. A value of None keeps the default.
    Raises ConfigError with the name of a setting whose value is unsuitable.
    """
    made = {key: setting.default for key, setting in settings.items()}
    for key, value in values.items():
        setting = settings[key]
        if value is None:
            continue
        with _naming_setting(name, key, setting.doc, value):
            made[key] = _converter().structure(value, setting.type)
            if setting.check is not None and made[key] is not None:
                setting.check(made[key])
    return {key: value for key, value in made.items() if value is not None or key in values}


@contextlib.contextmanager
def _naming_setting(plugin: str, name: str, doc: str, value: Any) -> Iterator[None]:
    """Convert errors in the block to ConfigError with the name of the setting."""
    try:
        yield
    except (ValueError, TypeError, cattrs.BaseValidationError) as error:
        problem = f"{value!r} does not fit: {_reason(error)}"
        remedy = doc or "see the plugin's documentation"
        raise ConfigError(problem, where=f"{plugin}.{name}", remedy=remedy) from error


def _doc(field: attrs.Attribute[Any]) -> str:
    return str(field.metadata.get("doc", ""))


def default_of(field: attrs.Attribute[Any]) -> Any:
    """Return the default of a setting, or ``attrs.NOTHING`` if it has none."""
    factory: Any = field.default
    if isinstance(factory, attrs.Factory):  # type: ignore[arg-type]
        return None if factory.takes_self else factory.factory()
    return factory


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return str(error)


class Described(NamedTuple):
    """A setting as shown to people.

    default: its text, empty if there is none.
    value: possible values: the choices, or the type and its limits.
    choices: all values, if the setting is a choice between words.
    """

    name: str
    type: str
    default: str
    doc: str
    value: str
    choices: tuple[str, ...]


def describe(declared: type | Mapping[str, Setting]) -> list[Described]:
    """Describe the visible settings of a class, or those of a view or report."""
    if not isinstance(declared, type):
        return [
            _described(name, s.type, s.default, s.doc, s.choices, s.allowed)
            for name, s in declared.items()
        ]
    shown = ("choices", "allowed")
    return [
        _described(f.name, f.type, default_of(f), _doc(f), *map(f.metadata.get, shown))
        for f in attrs.fields(declared)
        if not f.metadata.get("hidden")
    ]


def _described(
    name: str, kind: Any, default: Any, doc: str, words: Iterable[str] | None, allowed: str | None
) -> Described:
    text = kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)
    text = text.replace("typing.", "")
    shown = "" if default in (None, (), {}) else str(default)
    if isinstance(default, tuple):
        shown = ",".join(map(str, default))
    choices = tuple(words or ())
    if text.split(" ")[0] == "bool":
        choices, shown = ("true", "false"), shown.lower()
    value = f"{', '.join(choices[:-1])} or {choices[-1]}" if choices else _in_words(text)
    if allowed:
        value = f"{value}, {allowed}" if value else allowed
    return Described(name, text, shown, doc, value, choices)


_TYPES: Final = {
    "Any": "",
    "int": "whole number",
    "float": "number",
    "str": "text",
    "Path": "path",
    "datetime": "date and time",
    "tuple[str, ...]": "texts with commas",
    "dict[str, str]": "text by key",
}


def _in_words(kind: str) -> str:
    """Describe a type for people; return unknown types unchanged."""
    plain = kind.removesuffix(" | None")
    return _TYPES.get(plain, plain)


@cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    converter.register_structure_hook(bool, _boolean)
    converter.register_structure_hook(int, _number(int))
    converter.register_structure_hook(float, _number(float))
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(Path, lambda value, _: Path(value))
    converter.register_structure_hook(datetime, _moment)

    def listed(hint: Any) -> Any:
        inner = typing.get_args(hint)[0]

        def make(value: Any, _: Any) -> tuple[Any, ...]:
            given = value.split(",") if isinstance(value, str) else value
            if isinstance(given, Mapping) or not isinstance(given, Iterable):
                raise ValueError("must be a list, or texts with commas")
            items = [v.strip() if isinstance(v, str) else v for v in given]
            return tuple(converter.structure(v, inner) for v in items if v != "")

        return make

    def is_tuple(hint: Any) -> bool:
        return typing.get_origin(hint) is tuple

    converter.register_structure_hook_factory(is_tuple, listed)
    return converter


def _boolean(value: Any, _: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("must be true or false")


def _number(kind: type) -> Any:
    def make(value: Any, _: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError("must be a number")
        if kind is int and isinstance(value, float):
            raise ValueError("must be a whole number")
        try:
            made = kind(value)
        except ValueError:
            whole = "a whole number" if kind is int else "a number"
            raise ValueError(f"must be {whole}") from None
        if kind is int and made.bit_length() > 63:
            raise ValueError("must fit into 64 bits")
        return made

    return make


def _text(value: Any, _: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if not isinstance(value, (str, int, float)):
        raise ValueError("must be text")
    return str(value)


def _moment(value: Any, _: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    raise ValueError("must be a date and time such as 2024-04-19T19:01:00")
