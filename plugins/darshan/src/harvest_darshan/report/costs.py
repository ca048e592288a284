"""Tables of what jobs' I/O gives and costs: what there is to gain, and bandwidth by layer."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from harvest import DatasetReader
from harvest_report import Column, Table

from ..views.bandwidth import bandwidth
from ..views.declared.costs import BANDWIDTH_COLUMNS, GAIN_COLUMNS
from ..views.gains import gains
from .tables import NAMES, job_columns, some


def gains_table(dataset: DatasetReader, top: int) -> Iterator[Table]:
    """The jobs with most to gain; nothing where no rule found anything."""
    found = gains(dataset).collect()
    if found.is_empty():
        return
    several = found.height > 1
    names = pl.col("findings").list.eval(pl.element().str.strip_prefix("io."))
    yield Table(
        "gains",
        found.head(top).with_columns(
            findings=names.list.join(", "),
            sure=pl.when(pl.col("certainty").list.len() > 0)
            .then(pl.col("certainty").list.join(", ").str.replace_all("_", " "))
            .otherwise(pl.lit("complete")),
        ),
        (
            *job_columns(found),
            Column("findings", doc="the rule that concerns most time first; all begin with io."),
            Column("hours", "to gain", "h", "seconds", "of processes, at most", scale=1 / 3600),
            Column("share", "of run", None, ".2%", doc="of the time that all processes ran"),
            Column("sure", "how sure"),
        ),
        of=GAIN_COLUMNS,
        title="What there is to gain",
        note=(f"{some(found.height, top, 'jobs')}, most to gain first. " if several else "")
        + "To gain is, at most, the time of processes that the findings concern. Reads, writes and "
        "metadata add up; of findings on the same time the most counts. No value: they cost no "
        "time, or it is not known. `io.gains` with per=finding has each finding by itself.",
    )


def bandwidth_table(dataset: DatasetReader, jobs: pl.DataFrame, top: int) -> Iterator[Table]:
    """How fast the first of some jobs moved bytes, layer by layer."""
    key = ("run", "job", "pid", "began")
    shown = jobs.head(top).select(*key).with_row_index("place")
    rows = (
        bandwidth(dataset)
        .filter(pl.col("bytes") > 0)
        .collect()
        .join(shown, on=key, nulls_equal=True, maintain_order="left")
        .sort("place", maintain_order=True)
    )
    if rows.is_empty():
        return
    yield Table(
        "bandwidth",
        rows.with_columns(layer=pl.col("layer").replace(LAYER_NAMES)),
        (
            *(job_columns(rows) if jobs.height > 1 else ()),
            "layer",
            Column("bytes", "moved", doc="read and written"),
            Column("slowest_s", "slowest", doc="time of the slowest process"),
            Column("bytes_per_s", "job", doc="moved / time of the slowest process"),
            Column("read_bytes_per_s", "reading", doc="of a process while it reads"),
            Column("write_bytes_per_s", "writing", doc="of a process while it writes"),
        ),
        of=BANDWIDTH_COLUMNS,
        title="Bandwidth by job and layer" if jobs.height > 1 else "Bandwidth by layer",
        note=(_FIRST.format(some(jobs.height, top, "jobs")) if jobs.height > 1 else "")
        + "The slowest process is what a job waits for: of "
        "files that all ranks share, the slowest rank of each. Layers overlap, so their bytes do "
        "not add up.",
    )


_FIRST = "{}, those with the most time in I/O first, and the layers that moved their bytes. "


LAYER_NAMES = {name.upper(): shown for name, shown in NAMES.items()}
"""Modules that are not called by their name."""
