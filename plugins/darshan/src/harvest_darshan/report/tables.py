"""The tables and notes of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words
from harvest_report import Column, Notes, Plot, Section, Table, legend, name_bars, seconds_axis
from harvest_toolkit.frames import known_sum, possible, sum_or_none

from ..views.declared.jobs import BANDWIDTH_COLUMNS, GAIN_COLUMNS, JOB_COLUMNS
from ..views.gains import gains
from ..views.jobs import bandwidth, layer_sums
from ..views.layers import LAYERS, SEGMENTS, spent_ns, sum_of, traced_once

NAMES: Final = {"h5d": "HDF5 datasets", "pnetcdf_var": "PnetCDF variables"}
"""Layers that are not called after their module."""

TIMES: Final = {"read_s": "reading", "write_s": "writing", "meta_s": "metadata"}
FILE_NAME: Final = pl.col("log").str.extract(r"([^/]*)$", 1)
_AMOUNTS: Final = (
    Column("read_bytes", "read", "bytes"),
    Column("write_bytes", "written", "bytes"),
)


def layers_table(
    dataset: DatasetReader, logs: pl.DataFrame, jobs: pl.DataFrame
) -> Iterator[Section]:
    """What each layer moved and how long it took, as a table and a picture."""
    parts = [
        layer_sums(dataset, logs, name).select(
            pl.lit(NAMES.get(name, layer.module)).alias("layer"), pl.exclude("run")
        )
        for name, layer in LAYERS.items()
    ]
    found = pl.concat(parts).group_by("layer", maintain_order=True)
    sums = ("files", "requests", "read_bytes", "write_bytes", *TIMES, "seconds")
    counted = found.agg(sum_or_none(name).alias(name) for name in sums)
    rows = pl.concat([counted, _traced(dataset)], how="diagonal_relaxed")
    whole = float(jobs["process_s"].sum()) if jobs["process_s"].null_count() == 0 else 0.0
    share = pl.col("seconds") / whole if whole else pl.lit(None, pl.Float64)
    yield Table(
        "layers",
        rows.with_columns(share=share),
        (
            *("layer", "files"),
            Column("requests", doc="reads and writes"),
            *_AMOUNTS,
            Column("read_s", "reading", "s", ",.3f"),
            Column("write_s", "writing", "s", ",.3f"),
            Column("meta_s", "metadata", "s", ",.3f", doc="open, stat, seek, close, flush"),
            Column("share", "of run", None, ".2%", doc="of the time that all processes ran"),
        ),
        title="Layers",
        note="Layers overlap: what goes through HDF5 or PnetCDF goes through MPI-IO or POSIX, what "
        "goes through MPI-IO reaches the file system through POSIX or DFS, and counts in each; "
        "STDIO (buffered streams) counts in itself alone; traced (DXT) is a record of single "
        "requests to POSIX, or to MPI-IO where POSIX was not traced. No value: not known.",
    )
    timed = counted.drop_nulls("seconds")
    if timed.height:
        yield _cost(timed, whole)


def _traced(dataset: DatasetReader) -> pl.DataFrame:
    """A row like those of layers for the trace; none where there is none."""
    spent, length = spent_ns(), possible("length")
    ops = {"read": pl.col("op") == "read", "write": pl.col("op") == "write"}
    return (
        traced_once(dataset[SEGMENTS])
        .select(
            layer=pl.lit("traced (DXT)"),
            files=pl.col("record_id").n_unique(),
            requests=pl.len(),
            **{f"{op}_bytes": sum_or_none(length.filter(mine)) for op, mine in ops.items()},
            **{f"{op}_s": sum_or_none(spent.filter(mine)) / 1e9 for op, mine in ops.items()},
            seconds=known_sum(spent) / 1e9,
        )
        .filter(pl.col("requests") > 0)
        .collect(engine="streaming")
    )


def _cost(rows: pl.DataFrame, whole: float) -> Plot:
    """Time in each layer, by kind of operation."""
    names = rows["layer"].to_list()
    scale = 100 / whole if whole else 1.0

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        places, left = range(len(names)), [0.0] * len(names)
        for number, (column, label) in enumerate(TIMES.items()):
            values = [value * scale for value in rows[column].to_list()]
            axes.barh(places, values, left=left, height=0.62, color=f"C{number}", label=label)
            left = [a + b for a, b in zip(left, values, strict=True)]
        name_bars(axes, names)
        axes.set_xlim(left=0)
        if whole:
            axes.set_xlabel("% of the time that the processes ran")
        else:
            seconds_axis(axes.xaxis, max(left), "of all processes")
        legend(figure)

    most = rows.sort("seconds", descending=True).row(0, named=True)
    return Plot(
        "cost",
        draw,
        "Time in each layer",
        f"Bars: time in reading, writing and metadata of {', '.join(names)}; the longest is "
        f"{most['layer']} with {seconds_in_words(most['seconds'])} of all processes together.",
        size=(7.5, 1.2 + 0.42 * len(names)),
    )


def job_columns(jobs: pl.DataFrame) -> tuple[Column, ...]:
    """What names a job; those without any value are left out."""
    named = (Column("program"), Column("job"), Column("pid", "process"))
    return tuple(c for c in named if jobs[c.name].null_count() < jobs.height)


def jobs_table(jobs: pl.DataFrame, top: int) -> Table:
    """The jobs with the most time in I/O."""
    return Table(
        "jobs",
        jobs.head(top),
        (
            *job_columns(jobs),
            *("began", "processes"),
            Column("wall_s", "run", format=",.1f"),
            "bytes",
            Column("io_s", "I/O", format=",.2f", doc="of all processes and threads together"),
            Column("time_share", "of run", format=".2%", doc="of the time that all processes ran"),
        ),
        of=JOB_COLUMNS,
        title="Jobs",
        note=f"{some(jobs.height, top, 'jobs')}, those with the most time in I/O first.",
    )


def files_table(files: pl.DataFrame, top: int, by: str) -> Table:
    """The files that took the most time, or moved the most bytes."""
    rows = files.with_columns(
        bytes=sum_of("read_bytes", "write_bytes"),
        # a file that is traced alone has no time in metadata operations
        time=sum_of("read_s", "write_s") + pl.col("meta_s").fill_null(0),
    ).sort(by, "file", descending=[True, False], nulls_last=True)
    shown = rows.head(top)
    parts = [
        f"{share_in_words(shown[name].cast(pl.Float64).sum() / whole)} of the {name}"
        for name in ("time", "bytes")
        if (whole := rows[name].cast(pl.Float64).sum())
    ]
    held = f"; they hold {' and '.join(parts)}" if shown.height < rows.height and parts else ""
    return Table(
        "files",
        shown.with_columns(
            used_by=pl.format("{} / {}", _or_unknown("readers"), _or_unknown("writers")),
            read_mb=pl.col("read_bytes") / 1e6,
            write_mb=pl.col("write_bytes") / 1e6,
            moving_s=sum_of("read_s", "write_s"),
        ),
        (
            Column("file", format="path"),
            Column("used_by", "used by",
                   doc="processes that read it / wrote it; ? where a record of all ranks hides it"),
            Column("operations", "requests"),
            Column("read_mb", "read", "MB", ",.2f"),
            Column("write_mb", "written", "MB", ",.2f"),
            Column("moving_s", "moving", "s", ",.3f", doc="in reads and writes"),
            Column("meta_s", "metadata", "s", ",.3f"),
        ),
        title=f"Files by {by}",
        note=f"{some(rows.height, top, 'files')}{held}. `io.files` has all of them.",
    )  # fmt: skip


def _or_unknown(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null("?")


def logs_table(logs: pl.DataFrame, top: int) -> Table:
    """The logs with the most time in I/O."""
    return Table(
        "logs",
        logs.sort("io_s", "log", descending=[True, False], nulls_last=True)
        .head(top)
        .with_columns(name=FILE_NAME),
        (
            Column("name", "log", format="id"),
            *("program", "processes"),
            Column("wall_s", "run", format=",.1f"),
            "bytes",
            Column("io_s", "I/O"),
            Column("time_share", "of run", format=".2%"),
        ),
        of=JOB_COLUMNS,
        title="Logs",
        note=f"{some(logs.height, top, 'logs')}, those with the most time in I/O first.",
    )


def gaps_notes(logs: pl.DataFrame, copies: int) -> Notes:
    """Modules that are cut off, or could not be read, and what else is in no sum.

    logs: of ``io.jobs``, one each; copies: how many logs are left out as they are copies.
    """
    gaps = (
        logs.drop_nulls("gaps")
        .group_by("gaps")
        .agg(count=pl.len(), name=FILE_NAME.min())
        .sort("count", "gaps", descending=[True, False])
    )
    items = [
        f"{gap}: {name}" + (f" and {count - 1:,} more." if count > 1 else ".")
        for gap, count, name in gaps.iter_rows()
    ]
    wrong = logs.drop_nulls("impossible").select(FILE_NAME, "impossible")
    items += [
        f"{name}: values that cannot be, of {counters}; they are left out."
        for name, counters in wrong.iter_rows()
    ]
    unsummed = (
        logs.explode("unsummed_modules")
        .drop_nulls("unsummed_modules")
        .group_by("unsummed_modules")
        .agg(count=pl.len())
        .sort("unsummed_modules")
    )
    items += [
        f"{module}: in {count_in_words(count, 'log')}; what it moves is in no sum, unless another "
        "module counts it."
        for module, count in unsummed.iter_rows()
    ]
    blank = logs.filter(pl.col("bytes").is_null())
    empty = blank.filter(~pl.col("has_counters")).height
    counts = {
        "Logs without a module that counts bytes": empty,
        "Logs with a module that counts bytes, of which no records could be read, so that their "
        "sums are not known": blank.height - empty,
        "Logs that are copies of others, and are left out": copies,
        "Logs without an end, so that shares of the run are not known": int(
            logs["process_s"].is_null().sum()
        ),
    }
    items += [f"{what}: {count:,}." for what, count in counts.items() if count]
    return Notes(
        "gaps",
        items or ["Nothing: no module is cut off, and all could be read."],
        title="What the logs lack",
    )


def reading_notes() -> Notes:
    """What words on the page mean."""
    return Notes(
        "notes",
        [
            "A job is the logs of one directory, user and job id; where no scheduler gave an id, "
            "those of one directory and user whose times overlap, as the processes of a Dask run.",
            "Times are sums over all processes and their threads, so that they may exceed the run. "
            "A file's figures come from its trace where it has one, else from counters of POSIX: "
            "what MPI-IO takes beyond them, as waiting for other ranks, is in the layers alone.",
            "A finding is high where it concerns a fifth of the processes' time or more, medium "
            "from a twentieth, else low: what takes no time is not worth a change. Where the time "
            "is not known, it is low.",
            "Each finding says how sure it is: complete, or a lower bound, by a coarse clock, of "
            "one process, or of a part.",
        ],
        title="How to read it",
    )


def some(number: int, top: int, word: str) -> str:
    """``20 of 124 files``, or ``All 3 files``."""
    return f"{top:,} of {number:,} {word}" if number > top else f"All {number:,} {word}"


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
