"""Sources of text files: in byte ranges, and what cannot be a line set aside.

A subclass says what the lines mean::

    class LogSource(LineSource):
        name, record_types = "log", (LogLine,)

        def read(self, partition, ctx):
            for lines in self.lines(partition, ctx):
                texts = lines.column()
                yield LogLine, pa.table({"text": texts, "position": lines.numbers})

Files may be plain or compressed by gzip or zstd.  A large plain one is read in several partitions,
whose lines have the numbers of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import attrs

from harvest import Partition, ReadContext, Source, file_partitions
from harvest.toolkit.settings import at_least, setting

from .line_blocks import Lines, split
from .lines import BLOCK_BYTES, LongLine, blocks, count_lines, line_starts
from .streams import compression, open_stream

__all__ = ["LineConfig", "LineSource"]


@attrs.frozen(kw_only=True)
class LineConfig:
    """The setting that all sources of lines have; a source's own are added to it."""

    partition_bytes: int = setting(
        "a plain file larger than this is read in parts of about this size, in parallel",
        128 * 1024 * 1024,
        at_least(1),
    )


class LineSource(Source):
    """A source of text files; ``read`` is left to the subclass, and goes through ``lines``.

    Config: derived from ``LineConfig``.
    line_limit: bytes of the longest line; a longer one is a reject.
    require_final_newline: whether a last line without a newline is a reject: a program that writes
        as it goes may have been stopped within it.
    """

    Config: ClassVar[type] = LineConfig
    line_limit: ClassVar[int] = BLOCK_BYTES
    require_final_newline: ClassVar[bool] = True
    _counted: tuple[str, int, int] = ("", 0, 0)
    """A file, a place in it, and how many lines lie before that."""

    def plan(self) -> Iterable[Partition]:
        """The files of the location; of a large plain one, ranges of whole lines."""
        for whole in super().plan():
            yield from self._ranges(whole)

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """The partitions of some files, unless a source derived from this one plans otherwise."""
        if type(self).plan is not LineSource.plan:
            return None
        return (
            part for whole in file_partitions(self.location, files) for part in self._ranges(whole)
        )

    def _ranges(self, whole: Partition) -> Iterator[Partition]:
        try:
            starts = self._starts(whole)
        except OSError:
            starts = ()  # reading it reports why
        if not starts:
            yield whole
        for start, stop in pairwise([*starts, whole.size_bytes]):
            yield attrs.evolve(
                whole,
                id=f"{whole.id}@{start:014d}",
                start=start,
                stop=stop,
                size_bytes=stop - start,
            )

    def _starts(self, whole: Partition) -> Sequence[int]:
        """Where the ranges of a file begin; none for one that is read as a whole."""
        if whole.size_bytes <= self.config.partition_bytes:
            return ()
        with whole.path.open("rb") as file:
            if compression(file.read(4)) is not None:
                return ()
        return line_starts(whole.path, self.config.partition_bytes, self.line_limit)

    def prepare(self, partition: Partition) -> Partition:
        """A range of a file with the number of lines before it."""
        if not partition.start:
            return partition
        path, place, before = self._counted
        if path != partition.origin or place > partition.start:
            place, before = 0, 0
        before += count_lines(partition.path, place, partition.start)
        self._counted = (partition.origin, partition.start, before)
        return attrs.evolve(partition, options={**partition.options, "lines_before": before})

    def lines(self, partition: Partition, ctx: ReadContext) -> Iterator[Lines]:
        """The lines of a partition, some megabytes at a time.

        All lines are counted as read.  Those that are too long, not UTF-8, or cut off by the end of
        the file are rejected; empty ones are counted as filtered.
        """
        if partition.start and "lines_before" not in partition.options:
            partition = self.prepare(partition)
        number = partition.options.get("lines_before", 0) + 1
        ctx.read(0)  # an empty file has been read, too
        place = (partition.path, partition.start, partition.stop)
        with open_stream(*place, once=True) as stream:
            for block in blocks(stream, line_limit=self.line_limit):
                ctx.advance(stream.consumed)
                stream.consumed = 0
                if isinstance(block, LongLine):
                    ctx.read(1)
                    ctx.reject(block.raw, block.reason, position=number)
                    number += 1
                    continue
                lines = split(block, number, require_final_newline=self.require_final_newline)
                ctx.read(lines.count)
                ctx.filtered(lines.blank, "empty line")
                for line in lines.invalid:
                    ctx.reject(line.raw, line.reason, position=line.number)
                number += lines.count
                if len(lines):
                    yield lines
            if stream.trouble:
                ctx.read(1)
                ctx.reject(b"", f"{stream.trouble}: it is incomplete", position=number)
