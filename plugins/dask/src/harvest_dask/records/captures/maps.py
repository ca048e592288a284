"""Frames that hold a map instead of rows: graphs, settings, packages, blind spells, ..."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from harvest import Record
from harvest.toolkit.texts import printable

from ..arrays import list_array, text_map
from ..key_columns import ASKED, TASKS, with_requested
from ..types import Environment, Event, GraphTask, LogEvent, RunConfig, RunSoftware
from .batches import TEXT, TIME, as_text, converted, time_of
from .container import MapFault
from .process import ProcessFacts

_MAP: Final = pa.map_(TEXT, TEXT)


Made: TypeAlias = tuple[type[Record], dict[str, pa.Array]]
Fields: TypeAlias = dict[str, Any]
"""The fields of a frame; a maker removes those that it puts into columns of a row."""
Maker: TypeAlias = Callable[[Fields, ProcessFacts], Iterator[Made]]


def _software(fields: Fields, facts: ProcessFacts) -> Iterator[Made]:
    packages = dict(_mapping(fields, "packages"))
    python = fields.pop("python", None)
    if python is not None:
        packages["python"] = python
    odd = {name: value for name, value in packages.items() if isinstance(value, dict | list)}
    if odd:  # kept as extra, since no version is one of these
        fields["packages"] = odd
    yield RunSoftware, _named({**packages, **dict.fromkeys(odd)}, "version", facts)


def _environment(fields: Fields, facts: ProcessFacts) -> Iterator[Made]:
    yield Environment, _named(_mapping(fields, "values"), "value", facts)


def _config(fields: Fields, facts: ProcessFacts) -> Iterator[Made]:
    columns = _named(_mapping(fields, "values"), "value", facts)
    columns["key"] = columns.pop("name")
    yield RunConfig, {**columns, "file": pa.repeat(printable(facts.file), len(columns["key"]))}


def _named(values: Mapping[str, Any], column: str, facts: ProcessFacts) -> dict[str, pa.Array]:
    """Convert a mapping to rows of name and text, with the file's process."""
    return {
        "name": as_text(list(values)),
        column: as_text(list(values.values())),
        "process": pa.repeat(pa.scalar(facts.text("process"), pa.string()), len(values)),
    }


def event(topic: str, fields: Fields, facts: ProcessFacts, message: str | None = None) -> Made:
    """Make an event with all remaining fields as text."""
    micros = time_of(fields.get("time"))
    if micros is not None:
        del fields["time"]
    rest = {name: as_text([fields.pop(name)]) for name in list(fields)}
    role, address = (facts.text(fact) for fact in ("role", "address"))
    return Event, {
        **one_row(topic=topic, message=message, role=role, address=address),
        "time": pa.array([micros], TIME),
        "fields": text_map(rest) if rest else pa.nulls(1, _MAP),
    }


def one_row(**values: str | None) -> dict[str, pa.Array]:
    """Make columns of one text."""
    return {name: pa.array([value], pa.string()) for name, value in values.items()}


def _blind(fields: Fields, facts: ProcessFacts) -> Iterator[Made]:
    since, time = _time(fields, "since"), _time(fields)
    lost, reason = fields.pop("lost", None), fields.pop("reason", None)
    process, worker = fields.pop("process", None), fields.pop("worker", None)
    if process is None and worker is None and facts.text("role") == "worker":
        worker = facts.text("address")
    elif worker is None and isinstance(process, str) and "://" in process:
        worker = process
    many = "an unknown number of rows is lost" if lost is None else f"{lost} rows are lost"
    who = "" if process is None else f"{process} "
    named = {"since": since.cast(pa.string())}
    others = {"lost": lost, "reason": reason, "process": process}
    named |= {name: as_text([value]) for name, value in others.items()}
    said = f"{who}could record nothing since {since[0]} ({reason or 'no reason'}); {many}"
    row = one_row(source=facts.text("role"), level="warning", kind="blind", message=said)
    yield LogEvent, {**row, "time": time, "worker": as_text([worker]), "fields": text_map(named)}


def _graph(fields: Fields, facts: ProcessFacts) -> Iterator[Made]:
    keys = _texts(fields, "keys")
    needs = _needs(fields, len(keys))
    asked = _texts(fields, "requested")
    number = fields.pop("graph", None)
    if number is None:
        number = facts.graphs + 1
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**63:
        raise MapFault(f"'graph' is {number!r}, not a number from 1")
    facts.graphs = max(facts.graphs, number)
    tasks = with_requested(
        pl.DataFrame({"row": 0, "key": keys, "needs": needs}, TASKS),
        pl.DataFrame({"row": 0, "key": asked}, ASKED),
    )
    moment, code, rows = fields.get("time"), fields.pop("code", None), tasks.height
    time = _time(fields)
    annotations = _annotations(fields, tasks["key"])
    columns = {
        "time": pa.repeat(time[0], rows),
        "client": _repeated(fields, "client", rows),
        "key": tasks["key"].to_arrow().cast(pa.string()),
        "dependencies": tasks["needs"].list.unique().list.sort().to_arrow(),
        "requested": tasks["requested"].to_arrow(),
        "graph": pa.repeat(pa.scalar(number, pa.int64()), rows),
        "stimulus_id": _repeated(fields, "stimulus_id", rows),
        **annotations,
    }
    yield GraphTask, columns
    if code is not None:
        yield event(
            "graph_code", {"time": moment, "graph": number}, facts, as_text([code])[0].as_py()
        )


def _annotations(fields: Fields, keys: pl.Series) -> dict[str, pa.Array]:
    """Convert annotations to one map per task; those of other keys stay in the fields."""
    given = fields.pop("annotations", None) or {}
    if not isinstance(given, Mapping):
        raise MapFault("'annotations' is not a map")
    known, named, others = frozenset(keys), {}, {}
    for name, by_key in given.items():
        if not isinstance(by_key, Mapping):
            raise MapFault(f"the annotation {name!r} is not a map from keys")
        named[str(name)] = as_text([by_key.get(key) for key in keys])
        if foreign := {str(k): v for k, v in by_key.items() if k not in known}:
            others[str(name)] = foreign
    if others:
        fields["annotations"] = others
    return {"annotations": text_map(named)} if named else {}


def _needs(fields: Fields, count: int) -> pl.Series:
    given = fields.pop("dependencies", ())
    if not isinstance(given, tuple) or not {*map(type, given)} <= {tuple}:
        raise MapFault("'dependencies' is not a list of lists of keys")
    found = _all_texts(tuple(itertools.chain.from_iterable(given)), "dependencies")
    if len(given) != count:
        raise MapFault(f"'dependencies' holds {len(given)} lists for {count} keys")
    lengths = np.fromiter(map(len, given), np.int64, count)
    return pl.Series(list_array(lengths, found), dtype=TASKS["needs"])


def _texts(fields: Fields, name: str) -> pl.Series:
    given = fields.pop(name, ())
    if not isinstance(given, tuple):
        raise MapFault(f"{name!r} is not a list")
    return pl.Series(_all_texts(given, name), dtype=pl.String)


def _all_texts(values: tuple[Any, ...], name: str) -> pa.Array:
    found, bad = converted(values, TEXT)
    if bad or found.null_count:
        raise MapFault(f"{name!r} holds what is not a text")
    return found


def _repeated(fields: Fields, name: str, rows: int) -> pa.Array:
    return pa.repeat(as_text([fields.pop(name, None)])[0], rows)


def _mapping(fields: Fields, name: str) -> Mapping[str, Any]:
    given = fields.pop(name, None)
    if not isinstance(given, Mapping):
        raise MapFault(f"{name!r} is not a map")
    return given


def _time(fields: Fields, name: str = "time") -> pa.Array:
    given = fields.pop(name, None)
    found = time_of(given)
    if given is not None and found is None:
        raise MapFault(f"{name!r} is {given!r}, not a time in seconds since 1970")
    return pa.array([found], TIME)


MAPS: Final[Mapping[str, Maker]] = {
    "software": _software,
    "environment": _environment,
    "config": _config,
    "blind": _blind,
    "graph": _graph,
}
"""Function that makes the rows, by kind of frame with a map."""
