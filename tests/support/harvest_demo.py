"""A plugin for the tests: a source of text lines and a sink of Arrow files.

It is what a third party would write, small enough to read at a glance.  A line ``bad`` is
rejected, ``skip`` is filtered, ``again`` is folded, ``boom`` makes the source fail.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import polars as pl

import harvest
from harvest import Partition, ReadContext, Record, field
from harvest_testing.source.reading import ArrowSink


@harvest.record("demo.line", layer="workflow", level="client")
class Line(Record):
    """One line of a text file."""

    text: str = field(role="subject", doc="The line, without its end.")
    length: int | None = field(unit="characters", doc="How long it is.")


@attrs.frozen(kw_only=True)
class DemoConfig:
    """Settings of the demo source."""

    upper: bool = attrs.field(default=False, metadata={"doc": "Write lines in upper case."})
    only: tuple[str, ...] = attrs.field(default=(), metadata={"doc": "Keep these lines only."})


class DemoSource(harvest.Source):
    """Lines of text files."""

    name = "demo"
    record_types = (Line,)
    Config = DemoConfig

    @classmethod
    def detect(cls, path: Path) -> harvest.Detection | None:
        if path.suffix == ".demo":
            return harvest.Detection(0.9, "file name ends in .demo")
        return None

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        log = os.environ.get("DEMO_READ_LOG")
        if log:
            with Path(log).open("a") as file:
                file.write(f"{Path(partition.origin).name}\n")
        with partition.path.open(encoding="utf-8", errors="surrogateescape") as lines:
            for number, line in enumerate(lines, 1):
                ctx.read(1)
                ctx.advance(len(line))
                text = line.rstrip("\n")
                if text == "bad":
                    ctx.reject(text, "the line is bad", position=number, record_type="demo.line")
                elif text == "skip" or (self.config.only and text not in self.config.only):
                    ctx.filtered(1, "unwanted line")
                elif text == "again":
                    ctx.folded(1, "repeated line")
                elif text == "boom":
                    raise RuntimeError("the parser met its end")
                elif text == "lost":
                    pass  # the defect that accounting must find
                else:
                    shown = text.upper() if self.config.upper else text
                    yield Line(text=shown, length=len(text), position=number)


class DemoSink(ArrowSink):
    """A directory of Arrow files."""

    name = "arrow-demo"


harvest_sources = harvest.declare(
    harvest.SourceSpec(name="demo", doc="Lines of text.", factory=DemoSource)
)

harvest_sinks = harvest.declare(
    harvest.SinkSpec(name="arrow-demo", doc="Arrow files.", factory=DemoSink)
)


def _lengths(dataset: harvest.DatasetReader, least: Any = 0) -> pl.LazyFrame:
    frame = dataset["demo.line"].filter(pl.col("length") >= int(least))
    return frame.group_by("length").agg(pl.len().alias("lines")).sort("length")


harvest_views = harvest.declare(
    harvest.View(
        name="demo.lengths",
        doc="How many lines there are of each length.",
        build=_lengths,
        requires=("demo.line",),
        settings={"least": "shortest length"},
    ),
)
