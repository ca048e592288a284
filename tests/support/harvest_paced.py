"""A plugin for the tests: lines of text, read as slowly as a test wants.

A line ``hold PATH`` makes the reading wait until PATH exists, after the rows before it are
written; ``process`` becomes the id of the process that reads it; ``bad`` is rejected, ``boom`` is a
defect of the source.  ``installed`` makes the plugin one that other processes find by its entry
point.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import polars as pl

import harvest
from harvest import Partition, ReadContext, Record, field

MUCH = "x" * (1 << 20)
"""A line that makes a partition too large to be read with others, and a sink begin its files."""


@harvest.record("paced.line", layer="workflow", level="client")
class PacedLine(Record):
    """One line of a text file."""

    text: str = field(role="subject", doc="The line, without its end.")


@attrs.frozen(kw_only=True)
class PacedConfig:
    """Settings of the paced source."""

    prefix: str = attrs.field(default="", metadata={"doc": "Written before each line."})


class PacedSource(harvest.Source):
    """Lines of text files, with halts."""

    name = "paced"
    record_types = (PacedLine,)
    Config = PacedConfig

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        text = partition.path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            ctx.read(1)
            ctx.advance(len(line) + 1)
            if line.startswith("hold "):
                _hold(Path(line.removeprefix("hold ")))
            if line == "bad":
                ctx.reject(line, "the line is bad", position=number)
            elif line == "boom":
                raise RuntimeError("the parser met its end")
            else:
                line = str(os.getpid()) if line == "process" else line
                row = {"text": [self.config.prefix + line], "position": [number]}
                yield PacedLine, pl.DataFrame(row)


def _hold(path: Path) -> None:
    until = time.monotonic() + 120
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)


harvest_sources = harvest.declare(
    harvest.SourceSpec(name="paced", doc="Lines, with halts.", factory=PacedSource)
)


def installed(folder: Path) -> Path:
    """Make ``folder`` one that, on the module path, has this plugin installed; gives it."""
    information = folder / "harvest_paced-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: harvest-paced\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text("[harvest]\npaced = harvest_paced\n")
    return folder
