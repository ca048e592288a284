"""A sound source of columns: lines ``MILLISECONDS<tab>LEVEL<tab>TEXT``, plain or packed by gzip."""

from __future__ import annotations

import gzip
import zlib
from datetime import datetime
from itertools import islice

import attrs
import pyarrow as pa

import harvest
from harvest import Detection, Record, Source, SourceError, field
from harvest.toolkit.settings import one_of, setting

BATCH_LINES = 10_000
LEVELS = ("debug", "info", "error")


@harvest.record("planted.event", layer="system", level="process")
class Event(Record):
    """Something that a program said."""

    time: datetime = field(role="time", doc="When.")
    level: str = field(doc="How bad it is.")
    text: str = field(role="subject", doc="What was said.")


@attrs.frozen(kw_only=True)
class Config:
    least: str = setting("Level below which events are left out.", "debug", one_of(LEVELS))


class ColumnarSource(Source):
    """Events of programs, one a line."""

    name = "planted-columnar"
    record_types = (Event,)
    Config = Config

    @classmethod
    def detect(cls, path):
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(64)
        if head[:13].isdigit() and head[13:14] == b"\t":
            return Detection(0.9, "a line that begins with milliseconds")
        return None

    def read(self, partition, ctx):
        wanted = LEVELS[LEVELS.index(self.config.least) :]
        number = told = 0
        with partition.path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            lines = gzip.GzipFile(fileobj=file) if packed else file
            try:
                while batch := list(islice(lines, BATCH_LINES)):
                    ctx.advance(file.tell() - told)
                    told = file.tell()
                    yield Event, self.table(batch, number, wanted, ctx)
                    number += len(batch)
            except (EOFError, zlib.error) as error:
                raise SourceError(f"damaged: {error}", where=str(partition.path)) from error

    def table(self, batch, number, wanted, ctx):
        ctx.read(len(batch))
        times, levels, texts, positions = [], [], [], []
        left_out = 0
        for position, raw in enumerate(batch, number + 1):
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            if position == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line:
                ctx.folded(1, "blank line")
                continue
            try:
                millis, level, text = line.decode().split("\t", 2)
                when = int(millis) * 1000
                if level not in LEVELS or not -(2**55) < when < 2**55:
                    raise ValueError(f"level {level[:40]!r}, or the time, is out of range")
            except ValueError as error:
                ctx.reject(raw, str(error), position=position)
                continue
            if level not in wanted:
                left_out += 1
                continue
            times.append(when)
            levels.append(level)
            texts.append(text)
            positions.append(position)
        ctx.filtered(left_out, "below the level")
        return pa.table(
            {
                "time": pa.array(times, pa.timestamp("us", "UTC")),
                "level": pa.array(levels, pa.string()),
                "text": pa.array(texts, pa.string()),
                "position": pa.array(positions, pa.int64()),
            }
        )
