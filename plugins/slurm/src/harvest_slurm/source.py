"""The source ``slurm``: sacct's output in any layout, or a live cluster."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, ClassVar
from zoneinfo import ZoneInfo

from harvest import (
    Detection,
    Partition,
    ReadContext,
    Record,
    Source,
    SourceError,
)

from .config import SlurmConfig
from .records import Job, Step

__all__ = ["SlurmSource"]


class SlurmSource(Source):
    """Reads Slurm's accounting as ``slurm.job`` and ``slurm.step``.

    The location is a file or directory of dumps, or ``live`` to ask the cluster itself.
    """

    name = "slurm"
    record_types: ClassVar[tuple[type[Record], ...]] = (Job, Step)
    Config = SlurmConfig

    config: SlurmConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By the header of sacct, by rows that look like its, or by its JSON."""
        from .layout import HEAD_BYTES, likeness

        if not path.is_file():
            return None
        try:
            with _opened(path) as stream:
                found = likeness(stream.read(HEAD_BYTES))
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return None  # what it was cannot be told any more
        return Detection(*found) if found else None

    def plan(self) -> Iterable[Partition]:
        """Each file is a partition; for ``live``, each slice of the time window."""
        if self.location == "live":
            from .live import slices

            return slices(self.config)
        return super().plan()

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
        """Batches of jobs and steps of a dump or of a slice."""
        if self.location == "live":
            from .live import read_slice

            yield from read_slice(partition, self.config, ctx)
            return
        try:
            with _opened(partition.path) as stream:
                yield from _read_dump(stream, partition, self.config, ctx)
        except (EOFError, zlib.error) as error:
            raise SourceError(
                f"its compressed data are damaged or cut short: {error}",
                where=partition.origin,
                remedy="restore it from its origin",
            ) from error


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def _read_dump(
    stream: IO[bytes], partition: Partition, config: SlurmConfig, ctx: ReadContext
) -> Iterator[Any]:
    from .assemble import assemble
    from .convert import Context
    from .csvtext import settle
    from .fixed_width import read_fixed
    from .jsondump import read_json
    from .layout import HEAD_BYTES, delimiter_of, find_layout
    from .selection import Selection, rules_of
    from .text import read_text

    origin = partition.origin
    head = stream.read(HEAD_BYTES)
    if not head.strip():
        ctx.note("the file is empty")
        ctx.read(0)
        return
    layout = find_layout(
        head,
        where=origin,
        columns=config.columns,
        delimiter=delimiter_of(config.delimiter) if config.delimiter else None,
    )
    stream.seek(0)
    if layout.kind == "csv":
        layout = settle(stream, layout, ctx)
        stream.seek(0)
    selection = Selection(rules_of(config), origin)
    if layout.kind == "json":
        yield from read_json(stream, selection, ctx, origin)
        return
    convert = Context(ZoneInfo(config.timezone or "UTC"), cut=layout.kind == "fixed")
    if layout.kind == "fixed":
        blocks = read_fixed(stream, layout, ctx)
    else:
        blocks = read_text(stream, layout, ctx)
    yield from assemble(blocks, selection, convert, ctx, delimiter=layout.delimiter)
    if convert.naive_times and config.timezone is None:
        ctx.note(
            "times carry no zone and were read as UTC; set slurm.timezone to the zone of the "
            "cluster if that is another"
        )
    if convert.elapsed_from_times:
        ctx.note(
            "elapsed times are End minus Start, in which suspensions count; ask sacct for Elapsed"
        )
    if convert.cpus_from_request:
        ctx.note(
            "CPUs of jobs are those they asked for (ReqCPUS), since those allocated are not in the "
            "dump; ask sacct for AllocCPUS"
        )
