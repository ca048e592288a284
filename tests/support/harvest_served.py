"""A plugin for tests of ``harvest serve``: a column of every type, and values that harm pages.

A file ``N SEED`` has N rows, drawn by the seed; ``bad`` in another line is a reject.
"""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import polars as pl

import harvest
from harvest import Column, Partition, ReadContext, Record, Setting, View, field
from harvest_toolkit.choices import ChoiceNeeded

MARKUP = "<script>alert(1)</script>\"'&</table>\u202e"
WORDS = ("a", "b", "B", "", "ä", "=1+1", "100%", "a b", MARKUP)


@attrs.frozen
class Place:
    """Where, in numbers."""

    x: float
    y: int


@harvest.record("served.thing", layer="workflow", level="client")
class Thing(Record):
    """A thing with a column of every type."""

    name: str = field(role="subject", doc="Its name.")
    word: str | None = field(doc="One of few words.")
    size: int | None = field(unit="bytes", doc="How large it is.")
    small: harvest.Int32 = field(doc="A small number, of few.")  # type: ignore[valid-type]
    large: harvest.UInt64 = field(doc="A number of 64 bits.")  # type: ignore[valid-type]
    real: float | None = field(unit="s", doc="A number with a fraction.")
    flag: bool | None = field(doc="Whether it is.")
    moment: datetime | None = field(role="time", doc="When it was.")
    data: bytes = field(doc="Its bytes.")
    tags: list[str] = field(doc="Words on it.")
    notes: dict[str, str] = field(doc="Words by words.")
    place: Place | None = field(doc="Where it is.")


class ThingSource(harvest.Source):
    """Things that are drawn."""

    name = "served"
    record_types = (Thing,)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        first, *others = partition.path.read_text().splitlines()
        count, seed = map(int, first.split())
        for number in range(count):
            ctx.read(1)
            yield thing(random.Random(f"{seed} {number}"))
        for line in others:
            ctx.read(1)
            ctx.reject(line, f"not a thing {MARKUP}", position=2)


def thing(draw: random.Random) -> Thing:
    """A thing, and now and then what is not known of it, or no ordinary number."""

    def perhaps(value: Any) -> Any:
        return None if draw.random() < 0.1 else value

    day = datetime(2026, 3, 1, tzinfo=UTC)
    odd = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0)
    return Thing(
        name=f"{draw.choice(WORDS)}{draw.randrange(10)}",
        word=perhaps(draw.choice(WORDS)),
        size=perhaps(draw.choice((0, draw.randrange(-5, 5), draw.randrange(2**62)))),
        small=draw.randrange(-2, 3),
        large=draw.choice((0, 2**64 - 1, draw.randrange(2**64))),
        real=perhaps(draw.choice((*odd, draw.uniform(-3, 3), 1.5))),
        flag=perhaps(draw.random() < 0.5),
        moment=perhaps(day + timedelta(microseconds=draw.randrange(10**12))),
        data=draw.randbytes(draw.randrange(3)),
        tags=[draw.choice(WORDS) for _ in range(draw.randrange(3))],
        notes=dict.fromkeys(draw.sample(("k", "l", MARKUP), draw.randrange(3)), MARKUP),
        place=perhaps(Place(x=draw.random(), y=draw.randrange(3))),
    )


def by_word(dataset: harvest.DatasetReader, *, least: int) -> pl.LazyFrame:
    """How many things have each word, most first."""
    counted = (
        dataset["served.thing"]
        .group_by("word")
        .agg(things=pl.len(), took=pl.duration(seconds=pl.len()))
    )
    return counted.filter(pl.col("things") >= least).sort("things", "word", descending=True)


def of_word(
    dataset: harvest.DatasetReader, *, word: str | None = None, words: Path | None = None
) -> pl.LazyFrame:
    """Things with one word, which is to be chosen, or read from a file."""
    if words is not None:
        word = words.read_text()
    found = dataset["served.thing"]
    if word is None:
        known = found.select(pl.col("word").drop_nulls().unique().sort()).collect()["word"]
        raise ChoiceNeeded("there are several words", settings=["word"], names=known)
    return found.select("name", "word").filter(pl.col("word") == word)


harvest_sources = harvest.declare(
    harvest.SourceSpec(name="served", doc="Things.", factory=ThingSource)
)

harvest_views = harvest.declare(
    View(
        name="served.by_word",
        doc="How many things have each word.",
        requires=("served.thing",),
        build=by_word,
        columns=(Column("word"), Column("things", doc="Things."), Column("took", unit="s")),
        settings={"least": Setting("how many things at least", int, 0)},
    ),
    View(
        name="served.of_word",
        doc="Things with one word.",
        requires=("served.thing",),
        build=of_word,
        columns=(Column("name"), Column("word")),
        settings={
            "word": Setting("the word", str),
            "words": Setting("a file that holds the word", Path),
        },
    ),
)
