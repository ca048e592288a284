"""The source ``node-exporter``: each sample of a text file is a row."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import harvest
from harvest import Detection, Partition, ReadContext, Record, Source, field
from harvest_toolkit.lines import numbered

from .exposition import Comment, Described, ExpositionError, Sample, parse

__all__ = ["NodeExporterSource", "NodeSample"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST = 1 << 20
"""Bytes of a line; one that is longer is no metric."""

SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
"""What the names of a metric's samples may end in, by its type."""


@harvest.record("node_exporter.sample", layer="system", level="process")
class NodeSample(Record):
    """One sample of a metric: a value of something at some moment."""

    time: datetime | None = field(
        role="time", doc="When it was taken; null where the line says not."
    )
    name: str = field(role="subject", doc="Name of the metric, with the sample's own ending.")
    labels: dict[str, str] = field(doc="Labels, which tell apart the samples of a metric.")
    value: float = field(doc="The value; may be NaN or infinite.")
    type: str | None = field(doc="counter, gauge, histogram, summary or untyped; null if untold.")
    help: str | None = field(doc="What the metric is, in its author's words.")


class NodeExporterSource(Source):
    """Files in Prometheus' text exposition format (``*.prom``): one, or those of a directory."""

    name: ClassVar[str] = "node-exporter"
    record_types: ClassVar[tuple[type[Record], ...]] = (NodeSample,)

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By the lines ``# HELP`` and ``# TYPE`` at its beginning, or its name."""
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(4096)
        if head.startswith((b"# HELP ", b"# TYPE ")) and b"\n# TYPE " in b"\n" + head:
            return Detection(0.9, "lines '# TYPE' as in Prometheus' text format")
        return Detection(0.5, "its name ends in .prom") if path.suffix == ".prom" else None

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[NodeSample]:
        """A row per sample; lines that Prometheus would refuse are rejected, one by one."""
        metrics = _Metrics()
        for number, raw, size_bytes, ended in numbered(partition.path, LONGEST):
            ctx.read(1)
            ctx.advance(size_bytes + ended)
            if size_bytes > LONGEST or not ended:
                long = f"longer than {LONGEST} bytes"
                reason = long if size_bytes > LONGEST else "the file ends within it"
                ctx.reject(raw, reason, position=number, record_type="node_exporter.sample")
                continue
            try:
                row = metrics.take(parse(raw.decode("utf-8")))
            except (ExpositionError, UnicodeDecodeError, OverflowError) as error:
                line = raw + b"\n"
                ctx.reject(line, str(error), position=number, record_type="node_exporter.sample")
                continue
            if isinstance(row, NodeSample):
                row.position = number
                yield row
            elif isinstance(row, Comment):
                ctx.filtered(1, "comment or empty line")
            else:
                ctx.folded(1, "HELP or TYPE line")
        if metrics.unused:
            ctx.note(f"described, but without samples: {', '.join(sorted(metrics.unused))}")


class _Metrics:
    """What a file has said so far about its metrics."""

    def __init__(self) -> None:
        self.said: dict[tuple[str, str], str] = {}
        self.begun: set[str] = set()
        self.unused: set[str] = set()

    def take(self, line: Sample | Described | Comment) -> NodeSample | Described | Comment:
        """The row of a sample; raises ExpositionError for what contradicts an earlier line."""
        if isinstance(line, Described):
            if (line.what, line.name) in self.said:
                raise ExpositionError(f"a second {line.what} of {line.name!r}")
            if line.what == "TYPE" and line.name in self.begun:
                raise ExpositionError(f"the TYPE of {line.name!r} follows its first sample")
            self.said[line.what, line.name] = line.text
            self.unused.add(line.name)
        if not isinstance(line, Sample):
            return line
        family = self._family(line.name)
        self.begun.add(family)
        self.unused.discard(family)
        return NodeSample(
            time=None if line.time_ms is None else EPOCH + timedelta(milliseconds=line.time_ms),
            name=line.name,
            labels=line.labels,
            value=line.value,
            type=self.said.get(("TYPE", family)),
            help=self.said.get(("HELP", family)),
        )

    def _family(self, name: str) -> str:
        """The metric that a sample is of: a histogram's are called otherwise than it is."""
        for kind, endings in SUFFIXES.items():
            for ending in endings:
                base = name.removesuffix(ending)
                if base != name and self.said.get(("TYPE", base)) == kind:
                    return base
        return name
