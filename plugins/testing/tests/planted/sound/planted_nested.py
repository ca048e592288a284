"""The source nested: a JSON document for each run of a simulation, read whole.

A document has steps, and each step its parts.  Steps and parts are units, and rows of two types.
A document may be packed by gzip.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs

import harvest
from harvest import Detection, Partition, ReadContext, Record, SourceError, field
from harvest.toolkit.settings import at_least, setting

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@harvest.record("planted.step", layer="workflow", level="client")
class Step(Record):
    """A step of a simulation."""

    time: datetime = field(role="time", doc="When it began.")
    run: str = field(doc="The run that it is of.")
    name: str = field(role="subject", doc="What was done.")
    duration_s: float | None = field(unit="s", doc="How long; null where it never ended.")
    labels: dict[str, str] | None = field(doc="What the simulation says besides.")


@harvest.record("planted.part", layer="workflow", level="process")
class Part(Record):
    """What one process did in a step."""

    run: str = field(doc="The run that it is of.")
    step: str = field(role="subject", doc="The step that it is of.")
    rank: int = field(doc="Number of the process.")
    cells: int | None = field(doc="Cells that it had; null where it does not say.")
    done: bool = field(doc="Whether it ended.")


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the source."""

    parts: bool = setting("Whether to give the parts, too.", True)
    max_bytes: int = setting("The largest document.", 1 << 26, at_least(1))


class NestedSource(harvest.Source):
    """Runs of simulations, as their JSON documents tell them."""

    name = "planted-nested"
    record_types = (Step, Part)
    Config = Config

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By how a document begins."""
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(64)
        if head.startswith(b'{"simulation":'):
            return Detection(0.95, "its first member")
        if head.startswith(b"\x1f\x8b") and path.name.endswith(".sim.gz"):
            return Detection(0.6, "its name and magic number")
        return None

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Record]:
        """A row for each step and each part of it."""
        document = load(partition, self.config.max_bytes)
        ctx.read(0)
        ctx.advance(partition.size_bytes)
        run, steps = document["simulation"], document["steps"]
        number = 0
        for each in steps:
            number += 1
            ctx.read(1)
            try:
                step = step_of(each, run, number)
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                ctx.reject(packed(each), f"no step: {error!r}", position=number)
                continue
            yield step
            for part in each.get("parts", []):
                number += 1
                ctx.read(1)
                if not self.config.parts:
                    ctx.filtered(1, "part")
                    continue
                try:
                    yield part_of(part, step, number)
                except (ValueError, TypeError, KeyError) as error:
                    ctx.reject(packed(part), f"no part: {error!r}", position=number)


def load(partition: Partition, most: int) -> dict[str, Any]:
    """The document; raises SourceError where it is none."""
    with partition.path.open("rb") as file:
        head = file.read(2)
        file.seek(0)
        try:
            stream = gzip.open(file) if head == b"\x1f\x8b" else file  # noqa: SIM115
            data = stream.read(most + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise broken(partition, f"its compressed data are damaged: {error}") from error
    if len(data) > most:
        raise broken(partition, f"it has more than {most} bytes")
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise broken(partition, f"it is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise broken(partition, "it is no object")
    try:
        text(document.get("simulation"))
    except (TypeError, ValueError) as error:
        raise broken(partition, f"it lacks its simulation: {error}") from error
    if not isinstance(document.get("steps"), list):
        raise broken(partition, "it lacks its steps")
    return document


def broken(partition: Partition, what: str) -> SourceError:
    """The error for a document that cannot be read at all."""
    return SourceError(what, where=partition.origin, remedy="restore it from its origin")


def step_of(each: dict[str, Any], run: str, number: int) -> Step:
    """The step that an element is; raises ValueError and others where it is none."""
    nanoseconds = whole(each["begin_ns"])
    seconds = each["seconds"]
    if not isinstance(each.get("parts", []), list):
        raise TypeError("its parts are no list")
    if not isinstance(each.get("labels", {}), dict):
        raise TypeError("its labels are no object")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        raise TypeError("seconds is no number")
    return Step(
        time=EPOCH + timedelta(microseconds=nanoseconds // 1000),
        run=run,
        name=text(each["name"]),
        duration_s=None if seconds is None else float(seconds),
        labels={text(k): text(v) for k, v in each["labels"].items()} if "labels" in each else None,
        extra=others(each, "name", "begin_ns", "seconds", "labels", "parts"),
        position=number,
    )


def part_of(part: dict[str, Any], step: Step, number: int) -> Part:
    """The part that an element is; raises ValueError and others where it is none."""
    if not isinstance(part["done"], bool):
        raise TypeError("done is neither true nor false")
    cells = part.get("cells")
    return Part(
        run=step.run,
        step=step.name,
        rank=whole(part["rank"]),
        cells=None if cells is None else whole(cells),
        done=part["done"],
        extra=others(part, "rank", "cells", "done"),
        position=number,
    )


def others(each: dict[str, Any], *known: str) -> dict[str, str] | None:
    """The members of an element that are no columns, as JSON; a key may be any text."""
    return {text(k): packed(v).decode() for k, v in each.items() if k not in known} or None


def whole(value: Any) -> int:
    """A whole number of 64 bits; raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise ValueError(f"{value!r:.40} is no whole number of 64 bits")
    return value


def text(value: Any) -> str:
    """A text; raises ValueError for anything else, also for half a surrogate pair."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    value.encode("utf-8")
    return value


def packed(value: Any) -> bytes:
    """An element as JSON again."""
    return json.dumps(value, ensure_ascii=True).encode("ascii")
