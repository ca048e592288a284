"""A report over the view of transfers: hosts with a total, and users by their jobs."""

import polars as pl

import harvest
from harvest import DatasetReader, Setting
from harvest.toolkit.settings import at_least
from harvest_report import Column, Notes, Report, Table
from harvest_toolkit.frames import known_sum


def summary(dataset: DatasetReader, *, top: int) -> Report:
    """What was moved, by host and by user."""
    days = dataset.view("planted.per_host").collect()
    hosts = days.group_by("host").agg(
        transfers=pl.col("transfers").sum(),
        size_bytes=known_sum("size_bytes"),
        unknown_sizes=pl.col("unknown_sizes").sum(),
    )
    order = ("host", "transfers", "size_bytes", "unknown_sizes")
    hosts = hosts.select(order).sort("transfers", "host", descending=[True, False], nulls_last=True)
    shown, rest = hosts.head(top), hosts.slice(top)
    total = hosts.select(
        pl.lit("total").alias("host"),
        pl.col("transfers").sum(),
        known_sum("size_bytes"),
        pl.col("unknown_sizes").sum(),
    )
    others = rest.select(
        pl.lit("others").alias("host"),
        pl.col("transfers").sum(),
        known_sum("size_bytes"),
        pl.col("unknown_sizes").sum(),
    )
    rows = pl.concat(
        [
            shown.with_columns(pl.col("host").fill_null("(not known)")),
            others if rest.height else others.clear(),
            total,
        ],
        how="vertical_relaxed",
    )
    moved = dataset.view("planted.with_job").collect()
    users = moved.group_by("user").agg(
        transfers=pl.len(), size_bytes=known_sum("size_bytes"), long=known_sum("long")
    )
    users = users.sort("size_bytes", "user", descending=[True, False], nulls_last=True)
    unknown = int(moved["size_bytes"].null_count())
    notes = [f"{unknown} transfers have no size and are not in the sums."] if unknown else []
    return Report(
        "Transfers",
        sections=[
            Table(
                "hosts",
                rows,
                [
                    Column("host"),
                    Column("transfers", format=",d"),
                    Column("size_bytes", "size", format="bytes"),
                    Column("unknown_sizes", "without a size", format=",d"),
                ],
            ),
            Table(
                "users",
                users,
                [
                    Column("user"),
                    Column("transfers", format=",d"),
                    Column("size_bytes", "size", format="bytes"),
                    Column("long", format=",d"),
                ],
            ),
            Notes("remarks", notes),
        ],
    )


harvest_reports = harvest.declare(
    harvest.ReportSpec(
        name="planted.summary",
        doc="What was moved, by host and by user.",
        build=summary,
        requires=("planted.transfer", "planted.job"),
        settings={"top": Setting("how many hosts are shown", int, 10, at_least(1))},
    ),
)
