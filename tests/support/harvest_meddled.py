"""A plugin for the tests whose files can be meddled with while they are read."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import harvest

meddle: Callable[[Path], object] | None = None
"""Called with the path after a file's first line was read."""


@harvest.record("meddled.line", layer="job", level="job")
class Line(harvest.Record):
    """One line."""

    text: str


class MeddledSource(harvest.Source):
    """Lines of files."""

    name = "meddled"
    record_types = (Line,)

    def read(self, partition: harvest.Partition, ctx: harvest.ReadContext) -> Iterable[Any]:
        with partition.path.open() as lines:
            for number, line in enumerate(lines):
                yield Line(text=line.rstrip())
                if number == 0 and meddle is not None:
                    meddle(partition.path)


harvest_sources = harvest.declare(
    harvest.SourceSpec(name="meddled", doc="Lines.", factory=MeddledSource)
)
