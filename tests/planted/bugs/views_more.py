"""More bugs of views and reports: names that are told apart, precision, runs, ties, remarks."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

VIEWS_MORE: Final = [
    Bug(
        "views",
        "texts changed",
        "views-hosts-in-any-case",
        "Hosts are told apart in lower case: Node1 and node1 are two machines, and are one row.",
        (('.group_by("host", day=day)', '.group_by(pl.col("host").str.to_lowercase(), day=day)'),),
    ),
    Bug(
        "views",
        "numbers",
        "views-sums-through-floats",
        "Sums go through floats: beyond 2**53 bytes, which is 9 PB, digits are lost.",
        (
            (
                'size_bytes=known_sum("size_bytes")',
                'size_bytes=known_sum(pl.col("size_bytes").cast(pl.Float64)).cast(pl.Int64)',
            ),
        ),
    ),
    Bug(
        "views",
        "times",
        "views-offset-of-today",
        "Days are made with the zone's offset of today: half a year is off by an hour.",
        (
            (
                "from datetime import datetime\n",
                "from datetime import datetime\nfrom zoneinfo import ZoneInfo\n",
            ),
            (
                '    day = pl.col("time").dt.convert_time_zone(timezone).dt.strftime("%Y-%m-%d")\n',
                "    offset = datetime.now(ZoneInfo(timezone)).utcoffset()\n"
                '    day = (pl.col("time") + offset).dt.strftime("%Y-%m-%d")\n',
            ),
        ),
    ),
    Bug(
        "views",
        "times",
        "views-years-of-weeks",
        "The year is that of the ISO week: the last days of December are of next year.",
        (('dt.strftime("%Y-%m-%d")', 'dt.strftime("%G-%m-%d")'),),
    ),
    Bug(
        "views",
        "populations",
        "views-mean-of-means",
        "The mean is that of the means of runs: a run of one transfer weighs as one of a thousand.",
        (
            (
                '        dataset["planted.transfer"]\n        .group_by("host", day=day)\n',
                '        dataset["planted.transfer"]\n'
                '        .with_columns(run_s=pl.col("duration_s").mean().over("run", "host", day))\n'
                '        .group_by("host", day=day)\n',
            ),
            (
                'mean_s=pl.col("duration_s").mean()',
                'mean_s=pl.col("run_s").filter(pl.struct("run").is_first_distinct()).mean()',
            ),
        ),
        unknowable="whether a mean weighs transfers or runs is what its column means",
    ),
    Bug(
        "views",
        "rows lost",
        "views-equal-transfers-are-one",
        "Transfers that are equal are counted once, as if one had been read twice.",
        (
            (
                '        .group_by("host", day=day)\n',
                '        .unique(("time", "run", "job", "host", "size_bytes", "duration_s"))\n'
                '        .group_by("host", day=day)\n',
            ),
        ),
    ),
    Bug(
        "views",
        "rows multiplied",
        "views-a-row-for-each-run",
        "Runs are apart: a host that two runs used on one day has two rows of one key.",
        (('.group_by("host", day=day)', '.group_by("host", "run", day=day)'),),
    ),
    Bug(
        "joined",
        "runs mixed",
        "joined-keys-run-together",
        "Run and job are one text without anything between: job 11 of r is job 1 of r1.",
        (
            (
                '        .select("run", "job", "user", job_time="time")\n',
                '        .select("user", key=pl.concat_str("run", "job"), job_time="time")\n'
                '        .unique("key", keep="last", maintain_order=True)\n',
            ),
            (
                '    rows = dataset["planted.transfer"].join(\n'
                '        jobs, on=("run", "job"), how="left", maintain_order="left"\n',
                '    moved = dataset["planted.transfer"]\n'
                '    rows = moved.with_columns(key=pl.concat_str("run", "job")).join(\n'
                '        jobs, on="key", how="left", maintain_order="left"\n',
            ),
        ),
    ),
    Bug(
        "joined",
        "numbers",
        "joined-never-before-its-job",
        "A transfer before its job, as clocks that differ have it, is said to be at its begin.",
        (("since_s=since,", "since_s=pl.when(since.is_not_null()).then(since.clip(0)),"),),
    ),
    Bug(
        "joined",
        "order",
        "joined-ties-of-two-inputs",
        "Transfers of one moment and line in two inputs have no order: two answers differ.",
        (
            (
                '.sort("time", "origin", "position")\n\n\nWITH_JOB',
                '.sort("time", "position")\n\n\nWITH_JOB',
            ),
        ),
    ),
    Bug(
        "joined",
        "nulls",
        "joined-jobs-of-nobody-are-none",
        "A job whose user is not known counts as none: its begin is lost, or that of before taken.",
        (
            (
                '        dataset["planted.job"]\n',
                '        dataset["planted.job"]\n        .drop_nulls("user")\n',
            ),
        ),
    ),
    Bug(
        "joined",
        "numbers",
        "joined-whole-milliseconds",
        "Seconds since the job began are cut to milliseconds: short ones are 0.",
        (("dt.total_microseconds() / 1e6", "dt.total_milliseconds() / 1e3"),),
    ),
    Bug(
        "report",
        "numbers",
        "report-ties-at-the-last-place",
        "Hosts that tie with the last one shown are shown, too, and are among the others as well.",
        (
            (
                "hosts.head(top), hosts.slice(top)",
                "hosts.filter(pl.col('transfers').rank('min', descending=True) <= top), "
                "hosts.slice(top)",
            ),
        ),
    ),
    Bug(
        "report",
        "rows lost",
        "report-ten-users",
        "Only ten users are shown, and nothing says that there are more.",
        (
            (
                'users.sort("size_bytes", "user", descending=[True, False], nulls_last=True)\n',
                'users.sort("size_bytes", "user", descending=[True, False], nulls_last=True)\n'
                "    users = users.head(10)\n",
            ),
        ),
    ),
    Bug(
        "report",
        "totals",
        "report-remark-counts-days",
        "The remark counts days of hosts without any size, and says that they are transfers.",
        (
            (
                'unknown = int(moved["size_bytes"].null_count())',
                'unknown = int(days["size_bytes"].null_count())',
            ),
        ),
    ),
    Bug(
        "report",
        "unknown is zero",
        "report-total-of-unknown-is-zero",
        "Where no size is known, the total says 0 bytes.",
        (
            (
                '        pl.lit("total").alias("host"),\n'
                '        pl.col("transfers").sum(),\n'
                '        known_sum("size_bytes"),\n',
                '        pl.lit("total").alias("host"),\n'
                '        pl.col("transfers").sum(),\n'
                '        pl.col("size_bytes").sum(),\n',
            ),
        ),
    ),
    Bug(
        "report",
        "nulls",
        "report-first-host-has-a-name",
        "A remark names the host with most transfers: where that is not known, there is no report.",
        (
            (
                "    return Report(\n",
                "    if hosts.height:\n"
                '        notes.append("Most transfers are of " + hosts["host"][0] + ".")\n'
                "    return Report(\n",
            ),
        ),
    ),
]
