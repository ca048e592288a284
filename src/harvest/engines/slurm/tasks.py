"""What array tasks are to do, as files that a person can read: partitions by name, not pickles.

``run.json`` names the sources and sinks with their settings, once; ``<number>.json`` holds the
partitions of one array task and how they are read.  A task that cannot go on leaves
``<number>.error.json``, from which the waiting run raises the same error.  Values are plain Python
values as JSON and back, exactly: tuples stay tuples, bytes bytes, times times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import attrs
from cattrs import structure

from harvest import errors
from harvest.api.from_file import file_of, load_file
from harvest.api.sink import Sink
from harvest.api.source import Partition, Source
from harvest.engines.requirements import Terms, versions_for
from harvest.errors import HarvestError, PluginError, UsageError
from harvest.pipeline.task import SourceRejected, Task
from harvest.plugins.registry import PluginManager, manager
from harvest.storage.part import Part, plain
from harvest.toolkit.files import write_atomically

__all__ = ["from_json", "read_error", "read_tasks", "to_json", "write_error", "write_tasks"]

_RUN: Final = "run.json"

_ERRORS: Final = {
    cls.__name__: cls
    for cls in (*vars(errors).values(), SourceRejected)
    if isinstance(cls, type) and issubclass(cls, HarvestError)
}


def write_tasks(
    folder: Path, chunks: Iterable[Sequence[Task]], sources: Sequence[Source], sinks: Sequence[Sink]
) -> int:
    """Write what the array tasks need to work on ``chunks``, one by one; gives how many there are.

    sources, sinks: those of the tasks, each once.
    Raises UsageError for sources and sinks that a job could not find by name, PluginError for
    settings or partitions that are not plain values.
    """
    plugins = manager()
    document = {
        "sources": [_name(source, plugins) for source in sources],
        "sinks": [_name(sink, plugins) for sink in sinks],
        "versions": versions_for([*sources, *sinks]),
    }
    folder.mkdir(mode=0o700, parents=True)
    _write(folder / _RUN, document)
    number_of = {
        id(item): number for items in (sources, sinks) for number, item in enumerate(items)
    }
    count = 0
    for chunk in chunks:
        _write(folder / f"{count}.json", _described(chunk, number_of))
        count += 1
    return count


def _described(chunk: Sequence[Task], number_of: Mapping[int, int]) -> dict[str, Any]:
    """The tasks of one array task; number_of: a source's or sink's place in its list, by id."""
    return {
        "on_error": chunk[0].on_error,
        "max_rejects": chunk[0].max_rejects,
        "tasks": [
            {
                "source": number_of[id(task.source)],
                "partition": _fields(task.partition),
                "unreadable": task.unreadable,
                "targets": [[number_of[id(sink)], plain(part)] for sink, part in task.targets],
            }
            for task in chunk
        ],
    }


def read_tasks(folder: Path, number: int) -> list[Task]:
    """The tasks of one array task, as they were written.

    Raises UsageError when the plugins here are of other versions than the run's.
    """
    run = json.loads((folder / _RUN).read_bytes())
    Terms(versions=tuple((name, wanted) for name, wanted in run["versions"])).require()
    plugins = manager()
    sources = [_make("source", item, plugins) for item in run["sources"]]
    sinks = [_make("sink", item, plugins) for item in run["sinks"]]
    chunk = json.loads((folder / f"{number}.json").read_bytes())
    return [
        Task(
            source=sources[item["source"]],
            partition=Partition(**{k: from_json(v) for k, v in item["partition"].items()}),
            targets=tuple((sinks[place], structure(part, Part)) for place, part in item["targets"]),
            on_error=chunk["on_error"],
            max_rejects=chunk["max_rejects"],
            unreadable=item["unreadable"],
        )
        for item in chunk["tasks"]
    ]


def write_error(folder: Path, number: int, error: BaseException) -> None:
    """Keep what stopped an array task, for the run that waits for it."""
    document: dict[str, Any]
    if isinstance(error, HarvestError):
        names = [cls.__name__ for cls in type(error).__mro__]
        document = {
            "type": next(name for name in names if name in _ERRORS),
            "message": error.message,
            "where": error.where,
            "remedy": error.remedy,
        }
    elif isinstance(error, OSError):
        file = None if error.filename is None else str(error.filename)
        document = {"type": "OSError", "arguments": [error.errno, error.strerror, file]}
    else:
        document = {
            "type": "HarvestError",
            "message": f"unexpected {type(error).__name__}: {error}",
            "where": None,
            "remedy": "this is a defect: run with --engine local --debug and report the traceback",
        }
    _write(_error_path(folder, number), document)


def read_error(folder: Path, number: int) -> Exception | None:
    """The error that stopped an array task; None where there is none."""
    try:
        document = json.loads(_error_path(folder, number).read_bytes())
    except FileNotFoundError:
        return None
    if document["type"] == "OSError":
        return OSError(*document["arguments"])
    cls = _ERRORS[document["type"]]
    return cls(document["message"], where=document["where"], remedy=document["remedy"])


def _error_path(folder: Path, number: int) -> Path:
    return folder / f"{number}.error.json"


def _name(item: Source | Sink, plugins: PluginManager) -> dict[str, Any]:
    """A source or sink as its name, location and settings, and where its class is from."""
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
    """The source or sink that was named."""
    if "file" in document:
        module = load_file(Path(document["file"]), document["digest"])
        cls = attrgetter(document["class"])(module)
    else:
        cls = plugins.load(plugins.find_of(kind, document["distribution"], document["name"]))
    config = {name: from_json(value) for name, value in document["config"].items()}
    return cls(document["location"], cls.Config(**config))


def _fields(item: Any) -> dict[str, Any]:
    """The fields of an attrs object, by the names that its class takes them by."""
    return {
        field.alias: to_json(getattr(item, field.name))
        for field in attrs.fields(type(item))
        if field.init
    }


def _write(path: Path, document: Any) -> None:
    # ASCII: names that are not text survive
    write_atomically(path, json.dumps(document).encode("ascii"))


def to_json(value: Any) -> Any:
    """The value as what JSON can hold; raises PluginError for one that is not plain."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [to_json(item) for item in value]
    if kind is dict:
        return {"dict": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if kind is tuple:
        return {"tuple": [to_json(item) for item in value]}
    if kind in (set, frozenset):
        return {kind.__name__: [to_json(item) for item in sorted(value, key=repr)]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind in (datetime, date, time):
        return {kind.__name__: value.isoformat()}
    if kind is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, Path):
        return {"path": str(value)}
    raise PluginError(
        f"a value of type {kind.__qualname__} cannot be sent to a batch job",
        where=repr(value)[:200],
        remedy="use plain values in settings and in Partition.options, or another engine",
    )


def from_json(value: Any) -> Any:
    """The value that ``to_json`` was given."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    return _MAKERS[kind](content)


_MAKERS: dict[str, Any] = {
    "dict": lambda items: {from_json(key): from_json(item) for key, item in items},
    "tuple": lambda items: tuple(from_json(item) for item in items),
    "set": lambda items: {from_json(item) for item in items},
    "frozenset": lambda items: frozenset(from_json(item) for item in items),
    "bytes": bytes.fromhex,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda parts: timedelta(*parts),
    "path": Path,
}
