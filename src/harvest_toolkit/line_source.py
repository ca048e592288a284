"""Base class of sources that read text files line by line, large files in byte ranges.

A subclass makes rows of the lines::

    class LogSource(LineSource):
        name, record_types = "log", (LogLine,)

        def read(self, partition, ctx):
            for lines in self.lines(partition, ctx):
                texts = lines.column()
                yield LogLine, pa.table({"text": texts, "position": lines.numbers})

Files may be plain or compressed by gzip, bzip2, xz or zstd.  A large plain file has several
partitions; lines are numbered through the whole file.
"""

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
    """The setting that all line sources share; a source adds its own settings."""

    partition_bytes: int = setting(
        "a plain file larger than this is read in parts of about this size, in parallel",
        128 * 1024 * 1024,
        at_least(1),
    )


class LineSource(Source):
    """A source of text files; a subclass implements ``read``, and calls ``lines`` there.

    Config: a class derived from ``LineConfig``.
    line_limit: bytes of the longest line; a longer line is rejected.
    require_final_newline: whether a last line without a newline is rejected, because its program
        may have been stopped while it wrote.
    """

    Config: ClassVar[type] = LineConfig
    line_limit: ClassVar[int] = BLOCK_BYTES
    require_final_newline: ClassVar[bool] = True
    _counted: tuple[str, int, int] = ("", 0, 0)
    """A file, a place in it, and the count of lines before that place."""

    def plan(self) -> Iterable[Partition]:
        """Return the files of the location, large plain ones in ranges of whole lines."""
        for whole in super().plan():
            yield from self._ranges(whole)

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Return the partitions of some files; None when a subclass has a plan of its own."""
        if type(self).plan is not LineSource.plan:
            return None
        return (
            part for whole in file_partitions(self.location, files) for part in self._ranges(whole)
        )

    def _ranges(self, whole: Partition) -> Iterator[Partition]:
        try:
            starts = self._starts(whole)
        except OSError:
            starts = ()  # reading the file reports the error
        if not starts:
            yield whole
        for start, stop in pairwise([*starts, whole.size_bytes]):
            name = f"{whole.id}@{start:014d}"
            yield attrs.evolve(whole, id=name, start=start, stop=stop, size_bytes=stop - start)

    def _starts(self, whole: Partition) -> Sequence[int]:
        """Return where the ranges of a file begin; none when the file is read as a whole."""
        if whole.size_bytes <= self.config.partition_bytes:
            return ()
        with whole.path.open("rb") as file:
            if compression(file.read(4)) is not None:
                return ()
        return line_starts(whole.path, self.config.partition_bytes, self.line_limit)

    def prepare(self, partition: Partition) -> Partition:
        """Add to a range of a file the number of lines before it."""
        if not partition.start:
            return partition
        path, place, before = self._counted
        if path != partition.origin or place > partition.start:
            place, before = 0, 0
        before += count_lines(partition.path, place, partition.start)
        self._counted = (partition.origin, partition.start, before)
        return attrs.evolve(partition, options={**partition.options, "lines_before": before})

    def lines(self, partition: Partition, ctx: ReadContext) -> Iterator[Lines]:
        """Yield the lines of a partition, some megabytes at a time.

        Counts all lines as read and empty lines as filtered.  Rejects lines that are too long, not
        UTF-8, or cut off by the end of the file.
        """
        if partition.start and "lines_before" not in partition.options:
            partition = self.prepare(partition)
        number = partition.options.get("lines_before", 0) + 1
        ctx.read(0)  # an empty file also counts as read
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
