"""Transfers and jobs, a line of JSON each, and a view of transfers by day and host."""

import json
from collections.abc import Iterator
from datetime import datetime

import polars as pl

import harvest
from harvest import Column, DatasetReader, Partition, ReadContext, Record, Setting, View, field
from harvest.toolkit.settings import at_least, time_zone
from harvest_toolkit.frames import fraction, known_sum


@harvest.record("planted.transfer", layer="system", level="process")
class Transfer(Record):
    """Bytes that were moved."""

    time: datetime = field(role="time", doc="When it began.")
    run: str = field(doc="The run that it is of.")
    job: int | None = field(doc="Number of the job in its run; null outside of any.")
    host: str | None = field(role="host", doc="From which host; null where it is not known.")
    size_bytes: int | None = field(unit="bytes", doc="How many; null where it is not known.")
    duration_s: float | None = field(unit="s", doc="How long; null where it is not known.")


@harvest.record("planted.job", layer="job", level="job")
class Job(Record):
    """A job of a run; one that was queued again is there more than once."""

    time: datetime = field(role="time", doc="When it began.")
    run: str = field(doc="The run that it is of.")
    job: int = field(role="subject", doc="Its number in the run.")
    user: str | None = field(role="user", doc="Whose it is; null where it is not known.")


class TransfersSource(harvest.Source):
    """Transfers and jobs from lines of JSON."""

    name = "planted-transfers"
    record_types = (Transfer, Job)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Record]:
        """A transfer or a job a line."""
        with partition.path.open("rb") as lines:
            for number, raw in enumerate(lines, 1):
                values = json.loads(raw)
                values["time"] = datetime.fromisoformat(values["time"])
                kind = Job if "user" in values else Transfer
                yield kind(position=number, **values)


def per_host(dataset: DatasetReader, *, timezone: str, least: int) -> pl.LazyFrame:
    """Transfers by day and host."""
    day = pl.col("time").dt.convert_time_zone(timezone).dt.strftime("%Y-%m-%d")
    measured = pl.col("size_bytes").is_not_null() & pl.col("duration_s").is_not_null()
    grouped = (
        dataset["planted.transfer"]
        .group_by("host", day=day)
        .agg(
            transfers=pl.len(),
            size_bytes=known_sum("size_bytes"),
            unknown_sizes=pl.col("size_bytes").null_count(),
            mean_s=pl.col("duration_s").mean(),
            rate=fraction(
                known_sum(pl.col("size_bytes").filter(measured)),
                known_sum(pl.col("duration_s").filter(measured)),
            ),
        )
    )
    wanted = grouped.filter(pl.col("transfers") >= least)
    order = ("day", "host", "transfers", "size_bytes", "unknown_sizes", "mean_s", "rate")
    return wanted.select(order).sort("day", "host", nulls_last=True)


PER_HOST = View(
    name="planted.per_host",
    doc="Transfers by day and host.",
    build=per_host,
    requires=("planted.transfer",),
    columns=(
        Column("day", doc="The day on which they began, in the zone that is set."),
        Column("host", doc="From which host; null where it is not known."),
        Column("transfers", doc="How many transfers."),
        Column(
            "size_bytes",
            unit="bytes",
            doc="Bytes moved by those whose size is known; null where none is.",
        ),
        Column("unknown_sizes", doc="How many have no size."),
        Column("mean_s", unit="s", doc="Mean duration of those with one; null where none has."),
        Column(
            "rate", unit="bytes/s", doc="Bytes by seconds of those with both; null where none is."
        ),
    ),
    settings={
        "timezone": Setting("zone of the days", str, "UTC", time_zone),
        "least": Setting("leave out hosts with fewer transfers on a day", int, 1, at_least(1)),
    },
)

harvest_sources = harvest.declare(
    harvest.SourceSpec(name="planted-transfers", doc="Lines.", factory=TransfersSource)
)

harvest_views = harvest.declare(PER_HOST)
