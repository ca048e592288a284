"""Reads a dump: finds its layout, reads its rows, and converts them to typed batches."""

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import IO, Any, cast
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import Partition, ReadContext
from harvest.toolkit.amounts import count_in_words
from harvest_toolkit.clocks import named_in, undecided_note
from harvest_toolkit.live import forward
from harvest_toolkit.yaml_stream import YamlStream

from .config import SlurmConfig
from .read.columns import RawRows
from .read.csvtext import settle
from .read.form import HEAD_BYTES, Layout, refuse_names
from .read.json_dump import read_json
from .read.layout import delimiter_of, find_layout
from .read.presets import PRESETS
from .read.text import read_text
from .records import Job, Step
from .rows.columns import Columns
from .rows.selection import LostJobs, Selection, conditions_of
from .values.convert import Context
from .values.ids import read_ids


def read_dump(
    stream: IO[bytes], partition: Partition, config: SlurmConfig, ctx: ReadContext
) -> Iterator[Any]:
    """Return batches of jobs and steps of a dump in any layout."""
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
    convert = Context(zone, layout.delimiter, layout.kind == "fixed", config.cluster)
    yield from assemble(read_text(stream, layout, ctx), selection, convert, ctx)
    _note_doubts(convert, config, ctx)


def _layout_of(
    stream: IO[bytes], origin: str, config: SlurmConfig, ctx: ReadContext
) -> Layout | None:
    """Find the layout, and set the stream back to its first byte; None for an empty dump."""
    head = stream.read(HEAD_BYTES)
    if not head.strip():
        return None
    layout = find_layout(
        head,
        where=origin,
        columns=PRESETS[config.layout] if config.layout is not None else config.columns,
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
    if convert.naive_times and config.timezone is None:
        ctx.note(
            "times carry no zone and were read as UTC; set slurm.timezone to the zone of the "
            "cluster if it differs"
        )
    if convert.undecided:
        ctx.note(undecided_note(convert.undecided, convert.zone.key))
    if convert.elapsed_from_times:
        ctx.note(
            "elapsed times are End minus Start, with suspensions; add Elapsed to sacct --format"
        )
    if convert.cpus_from_request:
        ctx.note(
            "CPUs of jobs are those they asked for (ReqCPUS), since those allocated are not in the "
            "dump; ask sacct for AllocCPUS"
        )


def assemble(
    blocks: Iterable[RawRows], selection: Selection, convert: Context, ctx: ReadContext
) -> Iterator[tuple[type[Job] | type[Step], pa.Table]]:
    """Return typed batches of jobs and steps; report rejects and filtered rows to ``ctx``."""
    lost = LostJobs(ctx)
    for raw in blocks:
        ctx.read(len(raw.position))
        ids = read_ids(*(raw.column(name) for name in ("JobID", "JobIDRaw") if name in raw.names))
        is_step = ids["is_step"].to_numpy()
        job_rows, step_rows = (
            _typed(cls, raw.pick(index), ids[index], convert, ctx)
            for cls, index in ((Job, np.flatnonzero(~is_step)), (Step, np.flatnonzero(is_step)))
        )
        kept, decided = selection.jobs(job_rows)
        mine = selection.steps(step_rows, decided, lost.take(raw.names))
        for table in (kept, mine):
            if "undecided_times" in table.column_names:
                convert.undecided += named_in(table["undecided_times"])
        if job_rows.num_rows:
            yield Job, kept
        if step_rows.num_rows:
            yield Step, mine
    selection.account(ctx)
    for (first, second), (count, shown) in convert.contradictions.items():
        ctx.note(
            f"{first} and {second} contradict each other in {count_in_words(count, 'row')}, the "
            f"first is {shown}; {first} counts"
        )


def _typed(
    cls: type[Job] | type[Step], raw: RawRows, ids: pl.DataFrame, convert: Context, ctx: ReadContext
) -> pa.Table:
    """Convert rows to one record type; reject those that cannot be read.

    ids: the parsed ids of the same rows.
    """
    columns = Columns(cls, raw, ids, convert)
    table = columns.table().append_column("position", pa.array(raw.position))
    if not columns.errors:
        return table
    bad = reduce(pc.or_, (reasons.is_valid() for _, _, reasons in columns.errors))
    for index in pc.indices_nonzero(bad).to_pylist():
        row = raw.pick(np.array([index]))
        values = [row.column(name).text[0].as_py() for name in raw.names]
        refuse_names(values, raw.names, int(row.position[0]))
        name, field, reasons = next(error for error in columns.errors if error[2][index].is_valid)
        ctx.reject(
            convert.delimiter.join(values),
            f"{name}: {field.text[index].as_py()!r}: {reasons[index].as_py()}",
            position=int(row.position[0]),
            record_type="slurm.step" if cls is Step else "slurm.job",
        )
    return table.filter(pc.invert(bad))
