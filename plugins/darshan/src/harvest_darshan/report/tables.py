"""Build the tables and notes of the report."""

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words
from harvest_report import Column, Notes, Plot, Section, Table, legend, name_bars, seconds_axis
from harvest_toolkit.frames import known_sum, possible, sum_or_none

from ..views.declared.jobs import BANDWIDTH_COLUMNS, GAIN_COLUMNS, JOB_COLUMNS
from ..views.jobs import bandwidth, layer_sums
from ..views.layers import SEGMENTS, SPENT_NS, held_layers, sum_of, summed, traced_once

NAMES: Final = {"h5d": "HDF5 datasets", "pnetcdf_var": "PnetCDF variables"}
"""Names of layers that are not called as their module."""

TIMES: Final = {"read_s": "reading", "write_s": "writing", "meta_s": "metadata"}
FILE_NAME: Final = pl.col("log").str.extract(r"([^/]*)$", 1)


def layers_table(
    dataset: DatasetReader, logs: pl.DataFrame, jobs: pl.DataFrame
) -> Iterator[Section]:
    """Show the bytes and times of each layer, as a table and a plot."""
    parts = [
        layer_sums(dataset, logs, name).select(
            pl.lit(NAMES.get(name, layer.module)).alias("layer"), pl.exclude("run")
        )
        for name, layer in held_layers(dataset).items()
    ]
    found = pl.concat(parts).group_by("layer", maintain_order=True)
    sums = (sum_or_none(name) for name in ("files", "requests", "read_bytes", "write_bytes"))
    counted = found.agg(*sums, *(summed(pl.col(name)) for name in (*TIMES, "seconds")))
    rows = pl.concat([counted, _traced(dataset)], how="diagonal_relaxed")
    whole = float(jobs["process_s"].sum()) if jobs["process_s"].null_count() == 0 else 0.0
    share = pl.col("seconds") / whole if whole else pl.lit(None, pl.Float64)
    yield Table(
        "layers",
        rows.with_columns(share=share),
        (
            *("layer", "files"),
            Column("requests", doc="reads and writes"),
            Column("read_bytes", "read", "bytes"),
            Column("write_bytes", "written", "bytes"),
            Column("read_s", "reading", "s", ",.3f"),
            Column("write_s", "writing", "s", ",.3f"),
            Column("meta_s", "metadata", "s", ",.3f", doc="open, stat, seek, close, flush"),
            Column("share", "of run", None, ".2%", doc="share of the time that all processes ran"),
        ),
        title="Layers",
        note="Layers overlap: HDF5 and PnetCDF use MPI-IO or POSIX, and MPI-IO uses POSIX or DFS. "
        "STDIO (buffered streams) overlaps with none. Traced (DXT) is the record of single POSIX "
        "requests, or of MPI-IO where POSIX was not traced. No value: unknown.",
    )
    timed = counted.drop_nulls("seconds")
    if timed.height:
        yield _cost(timed, whole)


def _traced(dataset: DatasetReader) -> pl.DataFrame:
    """Return a row on the trace, in the columns of the layers; no row without a trace."""
    length = possible("length")
    ops = {"read": pl.col("op") == "read", "write": pl.col("op") == "write"}
    return (
        traced_once(dataset[SEGMENTS])
        .select(
            layer=pl.lit("traced (DXT)"),
            files=pl.col("record_id").n_unique(),
            requests=pl.len(),
            **{f"{op}_bytes": sum_or_none(length.filter(mine)) for op, mine in ops.items()},
            **{f"{op}_s": sum_or_none(SPENT_NS.filter(mine)) / 1e9 for op, mine in ops.items()},
            seconds=known_sum(SPENT_NS) / 1e9,
        )
        .filter(pl.col("requests") > 0)
        .collect(engine="streaming")
    )


def _cost(rows: pl.DataFrame, whole: float) -> Plot:
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
            axes.set_xlabel("% of process time")
        else:
            seconds_axis(axes.xaxis, max(left), "of all processes")
        legend(figure)

    most = rows.sort("seconds", descending=True).row(0, named=True)
    return Plot(
        "cost",
        draw,
        "Time in each layer",
        f"Time in reading, writing and metadata by layer. {most['layer']} takes longest: "
        f"{seconds_in_words(most['seconds'])} in all processes.",
        size=(7.5, 1.2 + 0.42 * len(names)),
    )


def job_columns(jobs: pl.DataFrame) -> tuple[Column, ...]:
    """Return the columns that name a job, without empty ones."""
    named = (Column("program"), Column("job"), Column("pid", "process"))
    return tuple(c for c in named if jobs[c.name].null_count() < jobs.height)


def jobs_table(jobs: pl.DataFrame, top: int) -> Table:
    """List the jobs with the most time in I/O."""
    return Table(
        "jobs",
        jobs.head(top),
        (
            *job_columns(jobs),
            *("began", "processes"),
            Column("wall_s", "run", format=",.1f"),
            "bytes",
            Column("io_s", "I/O", format=",.2f", doc="in all processes and threads"),
            Column("time_share", "of run", format=".2%",
                   doc="share of the time that all processes ran"),
        ),
        of=JOB_COLUMNS,
        title="Jobs",
        note=f"{some(jobs.height, top, 'jobs')}, the most time in I/O first.",
    )  # fmt: skip


def files_table(files: pl.DataFrame, top: int, by: str) -> Table:
    """List the files that took the most time, or moved the most bytes."""
    rows = files.with_columns(
        bytes=sum_of("read_bytes", "write_bytes"),
        # a file that is only traced has no metadata time
        time=sum_of("read_s", "write_s") + pl.col("meta_s").fill_null(0),
    ).sort(by, "file", descending=[True, False], nulls_last=True)
    shown = rows.head(top)
    parts = [
        f"{share_in_words(float(shown[name].sum()) / whole)} of the {name}"
        for name in ("time", "bytes")
        if (whole := float(rows[name].sum()))
    ]
    held = f", with {' and '.join(parts)}" if shown.height < rows.height and parts else ""
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
                   doc="processes that read it / wrote it; ? in a record of all ranks"),
            Column("operations", "requests"),
            Column("read_mb", "read", "MB", ",.2f"),
            Column("write_mb", "written", "MB", ",.2f"),
            Column("moving_s", "moving", "s", ",.3f", doc="in reads and writes"),
            Column("meta_s", "metadata", "s", ",.3f"),
        ),
        title=f"Files by {by}",
        note=f"{some(rows.height, top, 'files')}{held}. `io.files` has all.",
    )  # fmt: skip


def _or_unknown(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null("?")


def logs_table(logs: pl.DataFrame, top: int) -> Table:
    """List the logs with the most time in I/O."""
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
        note=f"{some(logs.height, top, 'logs')}, the most time in I/O first.",
    )


def gaps_notes(logs: pl.DataFrame, copies: int) -> Notes:
    """List modules that were cut off or not read, and other data that are in no sum.

    logs: rows of ``io.jobs``, one per log. copies: number of copied logs that are left out.
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
        f"{name}: impossible values of {counters}, which are left out."
        for name, counters in wrong.iter_rows()
    ]
    unsummed = logs["unsummed_modules"].explode().drop_nulls().value_counts()
    items += [
        f"{module} in {count_in_words(count, 'log')}: no sum has its bytes, unless another module "
        "counts them."
        for module, count in unsummed.sort("unsummed_modules").iter_rows()
    ]
    blank = logs.filter(pl.col("bytes").is_null())
    empty = blank.filter(~pl.col("has_counters")).height
    counts = {
        "Logs without a module that counts bytes": empty,
        "Logs whose modules could not be read, so their sums are unknown": blank.height - empty,
        "Copied logs, which are left out": copies,
        "Logs without an end, so their process time is unknown": logs["process_s"].null_count(),
    }
    items += [f"{what}: {count:,}." for what, count in counts.items() if count]
    return Notes(
        "gaps",
        items or ["None: no module was cut off, and all were read."],
        title="Gaps in the logs",
    )


READING_NOTES: Final = Notes(
    "notes",
    [
        "A job is the logs of one directory, user and job id. Without a job id, it is the logs "
        "of one directory and user whose times overlap, for example of a Dask run.",
        "Process time is the run time of all processes together. Times in I/O are sums over "
        "processes and threads, so they may exceed it.",
        "The numbers of a file come from its trace if it has one, else from POSIX counters. "
        "Only the layers show what MPI-IO takes beyond POSIX, for example to wait for ranks.",
        "A finding is high from 20 % of process time, medium from 5 %, else low, also where "
        "the time is unknown.",
    ],
    title="Definitions",
)
"""Definitions of the terms of the report."""


def some(number: int, top: int, word: str) -> str:
    """Format ``20 of 124 files``, or ``All 3 files``."""
    return f"{top:,} of {number:,} {word}" if number > top else f"All {number:,} {word}"


def gains_table(found: pl.DataFrame, top: int) -> Iterator[Table]:
    """List the jobs with the largest possible gain; no table without findings."""
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
            Column("findings", doc="rules, the one on the most time first; all begin with io."),
            Column("hours", "gain", "h", "seconds", "process hours, at most", scale=1 / 3600),
            Column("share", "of run", None, ".2%", doc="share of the time that all processes ran"),
            Column("sure", "certainty"),
        ),
        of=GAIN_COLUMNS,
        title="Possible gains",
        note=(f"{some(found.height, top, 'jobs')}, the largest gain first. " if several else "")
        + "The gain is at most the process time that the findings concern. Reads, writes and "
        "metadata add up; of findings on the same time the longest counts. No value: no time, or "
        "unknown. `io.gains` with per=finding lists each finding.",
    )


def bandwidth_table(dataset: DatasetReader, jobs: pl.DataFrame, top: int) -> Iterator[Table]:
    """Show the bandwidth of the first jobs, by layer."""
    key = ("run", "job", "pid", "began")
    moved = bandwidth(dataset).filter(pl.col("bytes") > 0).collect()
    shown = jobs.head(top).select(key)
    rows = shown.join(moved, on=key, nulls_equal=True, maintain_order="left_right")
    if rows.is_empty():
        return
    listed = some(jobs.height, top, "jobs")
    names = {name.upper(): known_as for name, known_as in NAMES.items()}
    yield Table(
        "bandwidth",
        rows.with_columns(layer=pl.col("layer").replace(names)),
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
        note=(f"{listed}, the most time in I/O first. " if jobs.height > 1 else "")
        + "A job waits for its slowest process, or the slowest rank of each shared file. Layers "
        "overlap, so their bytes do not add up.",
    )
