"""A view over two record types: each transfer with the job that it was made in."""

import polars as pl

import harvest
from harvest import Column, DatasetReader, Setting, View
from harvest.toolkit.settings import at_least


def with_job(dataset: DatasetReader, *, longest_s: float) -> pl.LazyFrame:
    """Transfers, each with what is known of its job."""
    jobs = (
        dataset["planted.job"]
        .sort("time", "origin", "position")
        .unique(("run", "job"), keep="last", maintain_order=True)
        .select("run", "job", "user", job_time="time")
    )
    rows = dataset["planted.transfer"].join(
        jobs, on=("run", "job"), how="left", maintain_order="left"
    )
    since = (pl.col("time") - pl.col("job_time")).dt.total_microseconds() / 1e6
    known = pl.col("duration_s")
    return rows.select(
        "time",
        "run",
        "job",
        "user",
        "host",
        "size_bytes",
        since_s=since,
        long=known > longest_s,
        origin="origin",
        position="position",
    ).sort("time", "origin", "position")


WITH_JOB = View(
    name="planted.with_job",
    doc="Each transfer with its job.",
    build=with_job,
    requires=("planted.transfer", "planted.job"),
    columns=(
        Column("time", doc="When the transfer began."),
        Column("run", doc="The run that it is of."),
        Column("job", doc="Number of the job in its run; null outside of any."),
        Column("user", doc="Whose job it is; null where that is not known."),
        Column("host"),
        Column("size_bytes"),
        Column("since_s", unit="s", doc="Since the job began; null where that is not known."),
        Column("long", doc="Whether it took longer than is set; null where nobody knows."),
        Column("origin", format="path", doc="The input."),
        Column("position", doc="The line there."),
    ),
    settings={"longest_s": Setting("seconds beyond which it is long", float, 1.0, at_least(0))},
)

harvest_views = harvest.declare(WITH_JOB)
