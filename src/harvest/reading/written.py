"""Tasks as readable JSON: partitions, settings and plugin names, not pickles.

Each source and sink is listed once. Plain Python values survive the round trip exactly: tuples stay
tuples, bytes stay bytes, times stay times.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import attrs
from cattrs import structure

from harvest.api.from_file import file_of, load_file
from harvest.api.sink import Sink
from harvest.api.source import Partition, Source
from harvest.errors import PluginError, UsageError
from harvest.plugins.registry import PluginManager, manager
from harvest.storage.part import Part, plain

from .task import Task
from .terms import Terms, versions_for

_FORMAT: Final = 1


def to_document(tasks: Sequence[Task], terms: Terms | None) -> dict[str, Any]:
    """Convert tasks of one run, at least one, and the terms of their readers to a JSON document."""
    plugins = manager()
    sources = list({id(task.source): task.source for task in tasks}.values())
    sinks = list({id(sink): sink for task in tasks for sink in task.sinks}.values())
    names = {
        "sources": [_name(source, plugins) for source in sources],
        "sinks": [_name(sink, plugins) for sink in sinks],
    }
    if terms is None:
        terms = Terms(versions=tuple(versions_for([*sources, *sinks]).items()))
    number_of = {
        id(item): number for items in (sources, sinks) for number, item in enumerate(items)
    }
    return {
        "format": _FORMAT,
        "terms": attrs.asdict(terms),
        **names,
        "on_error": tasks[0].on_error,
        "max_rejects": tasks[0].max_rejects,
        "tasks": [
            {
                "source": number_of[id(task.source)],
                "partition": _fields(task.partition),
                "unreadable": task.unreadable,
                "targets": [[number_of[id(sink)], plain(part)] for sink, part in task.targets],
            }
            for task in tasks
        ],
    }


def from_document(document: Any) -> tuple[tuple[Task, ...], Terms]:
    """Restore the tasks and terms that were given to ``to_document``."""
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        remedy = "run again: what is staged is kept"
        raise UsageError("this work was not written down by this version of harvest", remedy=remedy)
    terms = structure(document["terms"], Terms)
    terms.require()
    plugins = manager()
    sources = [_make("source", item, plugins) for item in document["sources"]]
    sinks = [_make("sink", item, plugins) for item in document["sinks"]]
    tasks = (
        Task(
            source=sources[item["source"]],
            partition=Partition(**{k: from_json(v) for k, v in item["partition"].items()}),
            targets=tuple((sinks[place], structure(part, Part)) for place, part in item["targets"]),
            on_error=document["on_error"],
            max_rejects=document["max_rejects"],
            unreadable=item["unreadable"],
        )
        for item in document["tasks"]
    )
    return tuple(tasks), terms


def _name(item: Source | Sink, plugins: PluginManager) -> dict[str, Any]:
    document = {"name": item.name, "location": item.location, "config": _fields(item.config)}
    if (file := file_of(type(item))) is not None:
        class_name = type(item).__qualname__
        return {**document, "file": file.path, "digest": file.digest, "class": class_name}
    spec = plugins.declaring(type(item))
    if spec is None or not plugins.owner(spec).installed:
        raise UsageError(
            f"{type(item).__name__!r} of this run is not of an installed plugin",
            remedy="batch jobs find plugins by their entry points: install it, name its file as "
            "FILE.py:LOCATION, or use another engine",
        )
    return {**document, "distribution": plugins.owner(spec).distribution}


def _make(kind: str, document: dict[str, Any], plugins: PluginManager) -> Any:
    if "file" in document:
        module = load_file(Path(document["file"]), document["digest"])
        cls = attrgetter(document["class"])(module)
    else:
        cls = plugins.load(plugins.find_of(kind, document["distribution"], document["name"]))
    config = {name: from_json(value) for name, value in document["config"].items()}
    return cls(document["location"], cls.Config(**config))


def _fields(item: Any) -> dict[str, Any]:
    """Convert the fields of an attrs object, keyed by their names in ``__init__``."""
    return {
        field.alias: to_json(getattr(item, field.name))
        for field in attrs.fields(type(item))
        if field.init
    }


def to_json(value: Any) -> Any:
    """Convert a value to JSON values; raise PluginError for one that is not plain."""
    kind: type = Path if isinstance(value, Path) else type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [to_json(item) for item in value]
    if kind in _FORMS:
        write, _ = _FORMS[kind]
        return {kind.__name__.lower(): write(value)}
    problem = f"a value of type {kind.__qualname__} cannot be sent to a batch job"
    remedy = "use plain values in settings and in Partition.options, or another engine"
    raise PluginError(problem, where=repr(value)[:200], remedy=remedy)


def from_json(value: Any) -> Any:
    """Restore the value that was given to ``to_json``."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((word, content),) = value.items()
    return _READERS[word](content)


def _sorted(values: Any) -> list[Any]:
    return [to_json(item) for item in sorted(values, key=repr)]


_FORMS: Final[dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    dict: (
        lambda values: [[to_json(key), to_json(item)] for key, item in values.items()],
        lambda items: {from_json(key): from_json(item) for key, item in items},
    ),
    tuple: (lambda values: to_json([*values]), lambda items: tuple(from_json(items))),
    set: (_sorted, lambda items: set(from_json(items))),
    frozenset: (_sorted, lambda items: frozenset(from_json(items))),
    bytes: (bytes.hex, bytes.fromhex),
    datetime: (datetime.isoformat, datetime.fromisoformat),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    timedelta: (lambda t: [t.days, t.seconds, t.microseconds], lambda parts: timedelta(*parts)),
    Path: (str, Path),
}
"""Conversions of types that JSON lacks; each value is an object whose one key is its type."""

_READERS: Final = {kind.__name__.lower(): read for kind, (_, read) in _FORMS.items()}
