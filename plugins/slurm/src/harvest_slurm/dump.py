"""Reading a dump: finding its layout, and its rows by the reader for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, cast
from zoneinfo import ZoneInfo

from harvest import Partition, ReadContext
from harvest_toolkit.clocks import undecided_note
from harvest_toolkit.live import forward
from harvest_toolkit.yaml_stream import YamlStream

from .config import SlurmConfig
from .read.csvtext import settle
from .read.fixed_width import read_fixed
from .read.form import HEAD_BYTES, Layout
from .read.json_dump import read_json
from .read.layout import delimiter_of, find_layout
from .read.text import read_text
from .rows.assemble import assemble
from .rows.selection import Selection, conditions_of
from .values.convert import Context


def read_dump(
    stream: IO[bytes], partition: Partition, config: SlurmConfig, ctx: ReadContext
) -> Iterator[Any]:
    """Batches of jobs and steps of a dump in any layout."""
    layout = _layout_of(stream, partition.origin, config, ctx)
    if layout is None:
        ctx.note("the file is empty")
        ctx.read(0)
        return
    selection = Selection(conditions_of(config), partition.origin)
    if layout.kind in ("json", "yaml"):
        if layout.kind == "yaml":
            stream = cast("IO[bytes]", YamlStream(stream, partition.origin))
        yield from read_json(stream, selection, ctx, cluster=config.cluster)
        return
    zone = ZoneInfo(config.timezone or "UTC")
    convert = Context(zone, cut=layout.kind == "fixed", cluster=config.cluster)
    read = read_fixed if layout.kind == "fixed" else read_text
    blocks = read(stream, layout, ctx)
    yield from assemble(blocks, selection, convert, ctx, delimiter=layout.delimiter)
    _note_doubts(convert, config, ctx)


def _layout_of(
    stream: IO[bytes], origin: str, config: SlurmConfig, ctx: ReadContext
) -> Layout | None:
    """The layout of a dump, whose stream is at its first byte afterwards; None for an empty one."""
    head = stream.read(HEAD_BYTES)
    if not head.strip():
        return None
    layout = find_layout(
        head,
        where=origin,
        columns=config.named_columns,
        delimiter=delimiter_of(config.delimiter) if config.delimiter else None,
    )
    if layout.order:
        ctx.note(
            f"it has no header: its columns were taken as those of {layout.order}, the one "
            f"known order that its first lines fit; --set slurm.layout={layout.order} says "
            "so, slurm.columns names others"
        )
    stream.seek(0)
    if layout.kind == "csv":
        layout = settle(stream, layout, ctx)
        stream.seek(0)
    forward(stream)
    return layout


def _note_doubts(convert: Context, config: SlurmConfig, ctx: ReadContext) -> None:
    """Note what was assumed of the dump's values."""
    if convert.naive_times and config.timezone is None:
        ctx.note(
            "times carry no zone and were read as UTC; set slurm.timezone to the zone of the "
            "cluster if that is another"
        )
    if convert.undecided:
        ctx.note(undecided_note(convert.undecided, convert.zone.key))
    if convert.elapsed_from_times:
        ctx.note(
            "elapsed times are End minus Start, in which suspensions count; ask sacct for Elapsed"
        )
    if convert.cpus_from_request:
        ctx.note(
            "CPUs of jobs are those they asked for (ReqCPUS), since those allocated are not in the "
            "dump; ask sacct for AllocCPUS"
        )
