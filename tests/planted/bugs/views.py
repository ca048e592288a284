"""Bugs of views and of a report."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

GROUPED: Final = '        .group_by("host", day=day)'
SORTED: Final = '.sort("day", "host", nulls_last=True)'
JOBS: Final = '        .unique(("run", "job"), keep="last", maintain_order=True)\n'
ON: Final = 'jobs, on=("run", "job"), how="left", maintain_order="left"'
ROWS: Final = "    rows = pl.concat("

VIEWS: Final = (
    Bug(
        "views",
        "nulls",
        "null-hosts-dropped",
        "Transfers whose host is not known are left out: totals are too small.",
        ((GROUPED, f'        .drop_nulls("host")\n{GROUPED}'),),
    ),
    Bug(
        "views",
        "order",
        "ties-without-order",
        "Hosts of one day have no order: two answers to one question differ.",
        ((SORTED, '.sort("day")'),),
    ),
    Bug(
        "views",
        "unknown is zero",
        "unknown-bytes-are-zero",
        "A host of which no size is known has moved 0 bytes.",
        (('size_bytes=known_sum("size_bytes")', 'size_bytes=pl.col("size_bytes").sum()'),),
    ),
    Bug(
        "views",
        "populations",
        "rate-of-two-populations",
        "Bytes of all transfers are divided by the seconds of those that were measured.",
        (
            ('known_sum(pl.col("size_bytes").filter(measured))', 'known_sum("size_bytes")'),
            ('known_sum(pl.col("duration_s").filter(measured))', 'known_sum("duration_s")'),
        ),
        "what a column computes is written for people",
    ),
    Bug(
        "views",
        "division by zero",
        "rate-infinite",
        "Where all durations are 0, the rate is infinite or no number.",
        (
            (
                'rate=fraction(\n                known_sum(pl.col("size_bytes").filter(measured)),\n'
                '                known_sum(pl.col("duration_s").filter(measured)),\n            ),',
                'rate=pl.col("size_bytes").filter(measured).sum()\n            / pl.col("duration_s").filter(measured).sum(),',
            ),
        ),
    ),
    Bug(
        "views",
        "settings",
        "timezone-ignored",
        "The setting 'timezone' is accepted, and days are those of UTC.",
        ((".dt.convert_time_zone(timezone)", ""),),
    ),
    Bug(
        "views",
        "times",
        "days-of-the-machine",
        "Days are those of the machine that looks, if it says TZ, and not of the zone that is set.",
        (
            ("import json\n", "import json\nimport os\n"),
            ("convert_time_zone(timezone)", 'convert_time_zone(os.environ.get("TZ") or timezone)'),
        ),
    ),
    Bug(
        "views",
        "rows multiplied",
        "counted-once-per-job-row",
        "A join with jobs that are there twice counts their transfers twice.",
        (
            (
                GROUPED,
                '        .join(dataset["planted.job"].select("run", "job"), on=("run", "job"), how="left")\n'
                + GROUPED,
            ),
        ),
    ),
    Bug(
        "views",
        "empty datasets",
        "fails-without-rows",
        "Over a dataset without transfers it ends with an error.",
        (
            (
                "    grouped = (\n",
                '    last = dataset["planted.transfer"].select(pl.col("time").max()).collect().item()\n'
                "    last.isoformat()\n    grouped = (\n",
            ),
        ),
    ),
    Bug(
        "views",
        "nulls",
        "counts-sizes-for-rows",
        "Transfers without a size are not counted as transfers.",
        (("transfers=pl.len()", 'transfers=pl.col("size_bytes").count()'),),
    ),
    Bug(
        "views",
        "state kept",
        "answer-remembered",
        "The first answer is given for each other dataset of the process, too.",
        (
            (
                "    return wanted.select(order)" + SORTED,
                "    answer = wanted.select(order)" + SORTED + ".collect()\n"
                "    return KNOWN.setdefault((timezone, least), answer).lazy()",
            ),
            ("PER_HOST = View(", "KNOWN = {}\n\nPER_HOST = View("),
        ),
    ),
    Bug(
        "views",
        "rows lost",
        "first-thousand",
        "Only the first thousand rows are given, and nothing says so.",
        (
            (
                "    return wanted.select(order)" + SORTED,
                "    return wanted.select(order)" + SORTED + ".head(1000)",
            ),
        ),
    ),
    Bug(
        "views",
        "settings",
        "least-is-more",
        "Hosts with just as many transfers as 'least' says are left out, too.",
        (('pl.col("transfers") >= least', 'pl.col("transfers") > least'),),
        "what a setting means is written for people",
    ),
    Bug(
        "views",
        "units",
        "mean-in-milliseconds",
        "The mean is in milliseconds, and declared in seconds.",
        (('mean_s=pl.col("duration_s").mean()', 'mean_s=pl.col("duration_s").mean() * 1000'),),
        "what a column computes is written for people",
    ),
    Bug(
        "joined",
        "rows lost",
        "inner-join",
        "Transfers outside of any known job are left out.",
        ((ON, ON.replace('"left", m', '"inner", m')),),
    ),
    Bug(
        "joined",
        "rows multiplied",
        "jobs-twice",
        "A transfer of a job that was queued again is there twice, and its bytes are, too.",
        ((JOBS, ""),),
    ),
    Bug(
        "joined",
        "runs mixed",
        "jobs-of-other-runs",
        "Jobs are found by their number alone: a transfer gets the user of another run's job.",
        (
            (JOBS, '        .unique("job", keep="last", maintain_order=True)\n'),
            ('.select("run", "job", "user"', '.select("job", "user"'),
            (ON, ON.replace('("run", "job")', '"job"')),
        ),
    ),
    Bug(
        "joined",
        "times",
        "since-in-whole-seconds",
        "The time since the job began loses its fractions.",
        (("dt.total_microseconds() / 1e6", "dt.total_seconds().cast(pl.Float64)"),),
        "what a column computes is written for people",
    ),
    Bug(
        "joined",
        "unknown is zero",
        "unknown-is-not-long",
        "A transfer whose duration nobody knows is said not to be long.",
        (("long=known > longest_s", "long=(known > longest_s).fill_null(False)"),),
    ),
    Bug(
        "joined",
        "texts changed",
        "hosts-lower",
        "Names of hosts are lower-cased and do not match those of other tables.",
        (('        "host",\n', '        pl.col("host").str.to_uppercase(),\n'),),
    ),
    Bug(
        "joined",
        "units",
        "kibibytes",
        "Sizes are in KiB, where the column says bytes.",
        (('        "size_bytes",\n', '        pl.col("size_bytes") // 1024,\n'),),
    ),
    Bug(
        "joined",
        "order",
        "same-time-no-order",
        "Transfers that begin at one moment have no order.",
        (('.sort("time", "origin", "position")\n\n\nWITH_JOB', '.sort("time")\n\n\nWITH_JOB'),),
    ),
    Bug(
        "joined",
        "position",
        "positions-anew",
        "Positions number the rows of the answer, and no longer say where a row was read.",
        (('        position="position",\n', "        position=pl.int_range(1, pl.len() + 1),\n"),),
    ),
    Bug(
        "report",
        "totals",
        "total-of-what-is-shown",
        "The total is that of the hosts that are shown, and leaves out the others.",
        (("    total = hosts.select(", "    total = shown.select("),),
    ),
    Bug(
        "report",
        "totals",
        "others-left-out",
        "The row of the other hosts is left out: the table does not add up to its total.",
        (("others if rest.height else others.clear()", "others.clear()"),),
    ),
    Bug(
        "report",
        "nulls",
        "nobodys-left-out",
        "Transfers whose user is not known are in no row of the users.",
        (
            (
                'moved = dataset.view("planted.with_job").collect()',
                'moved = dataset.view("planted.with_job").collect().drop_nulls("user")',
            ),
        ),
    ),
    Bug(
        "report",
        "empty datasets",
        "first-host-of-none",
        "Over a dataset without transfers it ends with an error.",
        (("    shown, rest =", "    hosts.row(0)\n    shown, rest ="),),
    ),
    Bug(
        "report",
        "order",
        "users-without-order",
        "Users with as many bytes have no order: two prints differ.",
        (
            (
                'users.sort("size_bytes", "user", descending=[True, False], nulls_last=True)',
                'users.sort("size_bytes", descending=True)',
            ),
        ),
    ),
    Bug(
        "report",
        "surroundings",
        "title-of-now",
        "The title tells the moment of printing: two prints of one dataset differ.",
        (
            (
                "import polars as pl\n",
                "from datetime import UTC, datetime\n\nimport polars as pl\n",
            ),
            ('        "Transfers",\n', '        f"Transfers, {datetime.now(UTC):%H:%M:%S.%f}",\n'),
        ),
    ),
    Bug(
        "report",
        "settings",
        "top-ignored",
        "The setting 'top' is accepted, and ten hosts are shown.",
        (
            (
                "shown, rest = hosts.head(top), hosts.slice(top)",
                "shown, rest = hosts.head(10), hosts.slice(10)",
            ),
        ),
    ),
)
