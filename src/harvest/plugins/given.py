"""Plugins built from classes and declarations, for entry points and files without hooks."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from harvest.api.from_file import content_version, file_of
from harvest.api.rule import Rule
from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.api.spec import ExporterSpec, ReportSpec, SinkSpec, SourceSpec, hookimpl
from harvest.api.view import View
from harvest.errors import PluginError
from harvest.model import RecordTypeError, record_type

from .claims import Plugin
from .registered import HOOKS

_DECLARED = (View, ReportSpec, Rule, ExporterSpec)
"""Types of declarations that a file may contain, apart from classes."""


def _those_of(kind: type) -> Any:
    """Build a hook that returns the objects of a type."""

    def those(self: Objects) -> list[Any]:
        return [each for each in self.objects if isinstance(each, kind)]

    return hookimpl(those)


def _specs_of(base: type, spec: type[SourceSpec] | type[SinkSpec]) -> Any:
    """Build a hook that declares the subclasses of a class."""

    def specs(self: Objects) -> list[Any]:
        return [
            spec(name=cls.name, doc=(cls.__doc__ or "").strip().partition("\n")[0], factory=cls)
            for cls in self.classes(base)
        ]

    return hookimpl(specs)


class Objects:
    """A plugin that consists of source and sink classes, views, reports, rules and exporters."""

    harvest_views, harvest_reports = _those_of(View), _those_of(ReportSpec)
    harvest_rules, harvest_exporters = _those_of(Rule), _those_of(ExporterSpec)
    harvest_sources, harvest_sinks = _specs_of(Source, SourceSpec), _specs_of(Sink, SinkSpec)

    def __init__(self, objects: Iterable[Any]):
        self.objects = tuple(objects)
        self.api_versions = tuple(cls.api_version for cls in self.classes((Source, Sink)))

    def classes(self, base: type | tuple[type, ...]) -> list[Any]:
        return [each for each in self.objects if isinstance(each, type) and issubclass(each, base)]


def of_module(module: ModuleType) -> Any:
    """Return the hooks of a user's file, or else a plugin with all that the file declares."""
    if any(callable(getattr(module, hook, None)) for hook in HOOKS):
        return module
    classes = [cls for cls in _classes_of(module) if not inspect.isabstract(cls)]
    for cls in classes:
        _check_class(cls)
    declared = [v for v in vars(module).values() if isinstance(v, _DECLARED)]
    return Objects([*classes, *{id(each): each for each in declared}.values()])


def unfinished(module: ModuleType, kind: str) -> str:
    """Say which classes of a module lack methods of a source or sink; empty if none do."""
    base = {"source": Source, "sink": Sink}.get(kind, ())
    lacking = [
        f"{cls.__name__} lacks {' and '.join(sorted(cls.__abstractmethods__))}"
        for cls in _classes_of(module)
        if issubclass(cls, base) and inspect.isabstract(cls)
    ]
    return f" ({'; '.join(lacking)})" if lacking else ""


def _classes_of(module: ModuleType) -> list[Any]:
    """Return the source and sink classes that a module itself defines, each once."""
    classes = (value for value in vars(module).values() if isinstance(value, type))
    own = (cls for cls in classes if cls.__module__ == module.__name__)
    return list(dict.fromkeys(cls for cls in own if issubclass(cls, (Source, Sink))))


def _check_class(cls: Any) -> None:
    where = _place(cls)
    if not isinstance(getattr(cls, "name", None), str):
        name = cls.__name__.removesuffix("Source").removesuffix("Sink").lower()
        raise PluginError(
            f"{cls.__name__} has no name", where=where, remedy=f'write name = "{name}" in it'
        )
    if issubclass(cls, Source) and not isinstance(getattr(cls, "record_types", None), tuple):
        problem = f"{cls.__name__} has no tuple of record types"
        remedy = "write record_types = (...,) with the record classes that it yields"
        raise PluginError(problem, where=where, remedy=remedy)
    try:
        inspect.signature(cls).bind("location", None)
    except TypeError as error:
        problem = f"{cls.__name__} cannot be made of a location and its settings: {error}"
        remedy = "let __init__ take (location, config), and all else from settings (Config)"
        raise PluginError(problem, where=where, remedy=remedy) from error


def require_record_types(cls: Any) -> None:
    """Raise PluginError if a source lists a class that is not declared as a record type."""
    for each in getattr(cls, "record_types", ()):
        try:
            record_type(each)
        except RecordTypeError as error:
            raise PluginError(f"source {cls.name!r}: {error}", where=_place(each)) from error


def _place(cls: Any) -> str | None:
    try:
        return f"{inspect.getsourcefile(cls)}:{inspect.getsourcelines(cls)[1]}"
    except (TypeError, OSError):
        return None


def plugin_of_class(cls: Any) -> Plugin:
    """Build the plugin for a single class that a program, notebook or file defines."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    if (loaded := file_of(cls)) is not None:
        file_name = Path(loaded.path).name
        return Plugin(name, file_name, loaded.digest, cls.__module__, installed=False)
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        distribution, version = cls.__module__, ""
    else:
        distribution, version = Path(file).name, content_version(Path(file).read_bytes())
    return Plugin(name, distribution, version, cls.__module__, installed=False)
