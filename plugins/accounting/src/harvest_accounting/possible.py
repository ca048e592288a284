"""Checks of values: times must be in order, and amounts must be possible for a machine.

Impossible values become null, so that sums leave them out. The column ``impossible`` names them.
The record types keep what was recorded.
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

_LONGEST_S: Final = 100 * 366 * 86400.0
_MOST_BYTES: Final = 2**60
_MOST: Final = 2**28

_LIMITS: Final = {
    **dict.fromkeys(("elapsed_s", "suspended_s", "planned_s", "timelimit_s"), _LONGEST_S),
    **dict.fromkeys(
        ("cpu_time_s", "cpu_s", "total_cpu_s", "user_cpu_s", "system_cpu_s"), _LONGEST_S * _MOST
    ),
    **dict.fromkeys(
        ("req_mem_bytes", "alloc_mem_bytes", "max_rss_bytes", "used_mem", "gpu_mem"), _MOST_BYTES
    ),
    **dict.fromkeys(("max_disk_read_bytes", "max_disk_write_bytes"), 2**62),
    **dict.fromkeys(("nodes", "alloc_nodes", "req_nodes", "alloc_cpus", "req_cpus"), _MOST),
    **dict.fromkeys(("ntasks", "alloc_gpus", "gpu_util"), _MOST),
}
"""The largest possible amount of one run or step: a century, an exbibyte, 2**28 CPUs."""


def possible(rows: pl.LazyFrame, *, also: Iterable[pl.Expr] = ()) -> pl.LazyFrame:
    """Set impossible amounts to null, and name them in ``impossible``.

    also: texts that name further impossible values, or null.
    """
    names = [name for name in rows.collect_schema().names() if name in _LIMITS]
    can_be = {name: pl.col(name).is_between(0, _LIMITS[name]) for name in names}
    said = [pl.when(~fine).then(pl.lit(name)) for name, fine in can_be.items()]
    text = pl.concat_str([*also, *said], separator=", ", ignore_nulls=True)
    return rows.with_columns(
        pl.when(text != "").then(text).alias("impossible"),
        *(pl.when(fine).then(name).alias(name) for name, fine in can_be.items()),
    )


def millionths(amount: pl.Expr) -> pl.Expr:
    """Convert an amount to whole millionths, whose sum does not depend on the order of the rows.

    Null for NaN.
    """
    return (amount * 1e6).round(0).cast(pl.Int128, strict=False)


def bytes_of(each: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Return bytes of each times their number; null if more than any machine has."""
    return pl.when(each.cast(pl.Float64) * count <= _MOST_BYTES).then(each * count)


def seconds_from(begin: str, end: str) -> pl.Expr:
    """Return the seconds between two times; null in the wrong order, or where one is ambiguous.

    A time is ambiguous if clocks were set back and show it twice.
    """
    passed = (pl.col(end) - pl.col(begin)).dt.total_microseconds() / 1e6
    return pl.when(_are_decided(begin, end) & passed.is_between(0, _LONGEST_S)).then(passed)


def _are_decided(*times: str) -> pl.Expr:
    return ~pl.col("undecided_times").str.contains("|".join(times)).fill_null(value=False)


def disorder(begin: str, end: str) -> pl.Expr:
    """Name two times in the wrong order or more than a century apart; else null."""
    known = pl.col(begin).is_not_null() & pl.col(end).is_not_null() & _are_decided(begin, end)
    wrong = known & seconds_from(begin, end).is_null()
    return pl.when(wrong).then(pl.lit(f"{begin} to {end}"))


def ran_until(ended: pl.Expr) -> pl.Expr:
    """Return when a run ended or was last seen; null if its start or end is unknown.

    ended: whether the run ended. Before that, its elapsed time shows how long it has run.
    """
    ran = pl.col("elapsed_s") + pl.col("suspended_s").fill_null(0.0)
    ran = pl.when(ran.is_between(0, _LONGEST_S)).then(ran * 1e6).round().cast(pl.Int64)
    so_far = pl.col("start_time") + pl.duration(microseconds=ran)
    until = pl.coalesce("end_time", pl.when(~ended).then(so_far))
    passed = (until - pl.col("start_time")).dt.total_microseconds()
    known = _are_decided("start_time", "end_time") & passed.is_between(0, _LONGEST_S * 1e6)
    return pl.when(known).then(until)
