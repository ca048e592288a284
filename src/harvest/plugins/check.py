"""Checking an installed plugin's declarations, by importing everything they name."""

from __future__ import annotations

from typing import Any

import attrs

from harvest.errors import PluginError
from harvest.model import record_type

from .manager import PluginManager, resolve
from .sink import Sink
from .source import Source

__all__ = ["check_plugin"]


def check_plugin(plugins: PluginManager, name: str) -> list[str]:
    """Sentences about what is wrong with a plugin; empty when all is well."""
    if name in plugins.broken:
        broken = plugins.broken[name]
        return [f"{broken.cause}; {broken.remedy}"]
    problems: list[str] = []
    for kind, base in (("sources", Source), ("sinks", Sink)):
        for spec in _owned(plugins, kind, name):
            try:
                problems += _check_class(plugins.load(spec), spec, base)
            except PluginError as error:
                problems.append(str(error))
    for kind, attribute in (
        ("views", "build"),
        ("reports", "build"),
        ("engines", "factory"),
        ("commands", "app"),
    ):
        for spec in _owned(plugins, kind, name):
            problems += _check_target(spec, attribute)
    return problems


def _owned(plugins: PluginManager, kind: str, name: str) -> list[Any]:
    return [s for s in getattr(plugins, kind).values() if plugins.owner(s).name == name]


def _check_class(cls: Any, spec: Any, base: type) -> list[str]:
    fits: bool = isinstance(cls, type) and issubclass(cls, base)
    if not fits:
        return [f"{spec.name}: {cls!r} is no subclass of harvest.{base.__name__}"]
    problems = []
    if cls.name != spec.name:
        problems.append(f"{spec.name}: its class calls itself {cls.name!r}")
    if not attrs.has(cls.Config):
        problems.append(f"{spec.name}: Config is no attrs class")
    else:
        problems += [
            f"{spec.name}: setting {a.name!r} has no documentation (metadata 'doc')"
            for a in attrs.fields(cls.Config)
            if not a.metadata.get("doc")
        ]
    if issubclass(cls, Source):
        for record_class in cls.record_types:
            kind = record_type(record_class)
            if not kind.doc:
                problems.append(f"{kind.name}: the record class has no docstring")
            problems += [
                f"{kind.name}.{c.name}: no documentation" for c in kind.columns if not c.doc
            ]
            _ = kind.arrow_schema  # raises when a column has no Arrow type
    return problems


def _check_target(spec: Any, attribute: str) -> list[str]:
    try:
        resolve(getattr(spec, attribute))
    # a stranger's module may raise anything at import
    except Exception as error:  # noqa: BLE001
        return [f"{spec.name}: {type(error).__name__}: {error}"]
    return []
