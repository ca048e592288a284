"""The view of months: what its columns mean, and what it is."""

from __future__ import annotations

from typing import Final

from harvest import Column, View
from harvest.columns import count, hours, seconds, share

from .common import HOURS, TREND_BY
from .groups import GROUPS

_THEN: Final = (
    "a year before, up to the same day where the month is not over; null where the dataset holds "
    "no such jobs of then"
)


def _measures(then: str = "") -> tuple[Column, ...]:
    """What there is of a month; then: what each is, of the month a year before."""
    p, of = ("year_before_", f", {then}") if then else ("", "")
    o = of or "; null without such runs"
    return (
        count(f"{p}jobs", f"Runs that count in the month{of}."),
        hours(f"{p}cpu_hours", f"CPU hours allocated in it, as far as known{of}."),
        hours(f"{p}cpu_wasted_hours", f"CPU hours allocated minus used, where both are known{o}."),
        share(f"{p}failed_share", f"Runs that failed as a share of those that ended{o}."),
        share(f"{p}cpu_eff", f"CPU hours used as a share of used and wasted ones{o}."),
        seconds(f"{p}mean_wait_s", f"Mean wait of the runs that started{o}."),
        hours(f"{p}gpu_hours", f"GPU hours allocated, as far as known{o}."),
        count(f"{p}failed_jobs", f"Runs that failed, whatever the reason{of}."),
        count(f"{p}days", "Days of the month in which runs count: a month of which a dump holds a "
              f"part has few{of}."),
    )  # fmt: skip


_NOW, _BEFORE = _measures(), _measures(_THEN)

TREND: Final = View(
    name="slurm.trend",
    doc="Jobs, hours, waste, failures and waits by month, beside the same month a year before.",
    build="harvest_slurm.views.trend:trend",
    requires=("slurm.job",),
    columns=(
        *(column for column in GROUPS if column.name != "day"),
        *_NOW[:2],
        _BEFORE[1],
        share("cpu_hours_change", "cpu_hours against year_before_cpu_hours: 0.1 is a tenth more; "
              "null where one of them is not known."),
        *_NOW[2:4],
        _BEFORE[3],
        *_NOW[4:],
        _BEFORE[0],
        _BEFORE[2],
        *_BEFORE[4:],
    ),
    settings={"by": TREND_BY, **HOURS},
)  # fmt: skip
