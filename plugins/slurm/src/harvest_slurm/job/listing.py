"""One line a job, as reportseff prints them: state, time, and what it used of what it was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.texts import printable_line

from ..states import STATES
from .words import clock

_HEAD: Final = [
    "JobID",
    "State",
    "Elapsed",
    "TimeEff",
    "CPUEff",
    "MemEff",
    "GPUEff",
    "User",
    "Name",
]
_EFF: Final = ("timelimit_eff", "cpu_eff", "mem_eff", "gpu_eff")
_NAME: Final = 24
_COLOURS: Final = {
    "completed": "green",
    "running": "cyan",
    "pending": "blue",
    "cancelled": "yellow",
    **dict.fromkeys(("failed", "timeout", "out_of_memory", "node_fail", "deadline"), "red"),
}


def chosen(
    data: DatasetReader, ids: Sequence[str], states: Sequence[str], settings: dict[str, Any]
) -> pl.DataFrame:
    """Rows of slurm.efficiency of a period, of some ids (an array's means all its tasks), states.

    Raises UsageError for a state that there is not, and an id that no job of them has.
    """
    wanted = [state.strip().lower() for text in states for state in text.split(",")]
    unknown = sorted({state for state in wanted if state.upper() not in STATES})
    if unknown:
        raise UsageError(
            f"{', '.join(unknown)}: no such state", remedy=f"states are {', '.join(STATES).lower()}"
        )
    rows = data.view("slurm.efficiency", **settings)
    if wanted:
        rows = rows.filter(pl.col("state").is_in(wanted))
    if not ids:
        return rows.collect()
    whole = pl.col("job_id").str.extract(r"^(\d+)")
    found = rows.filter(pl.col("job_id").is_in(ids) | whole.is_in(ids)).collect()
    there = {*found["job_id"], *found["job_id"].str.extract(r"^(\d+)")}
    lacking = [job for job in ids if job not in there]
    if lacking:
        raise UsageError(
            f"no job {', '.join(lacking)} among those that are chosen",
            remedy="see which there are with: harvest slurm jobs DATASET",
        )
    return found


def lines(jobs: pl.DataFrame) -> Iterator[list[tuple[str, str | None]]]:
    """Cells of a line with their colours, the heading first; what holds nothing is left out.

    Colours are those of reportseff: of time and CPUs more than 80 % is green, of memory 60 to 90 %,
    less than 20 % is red, as is memory above 90 %.
    """
    rows = [_cells(row) for row in jobs.iter_rows(named=True)]
    kept = [n for n in range(len(_HEAD)) if n < 3 or any(row[n][0] != "---" for row in rows)]
    widths = [max(len(row[n][0]) for row in [[(h, None) for h in _HEAD], *rows]) for n in kept]
    for cells in [[(head, "bold") for head in _HEAD], *rows]:
        line = zip(kept, widths, strict=True)
        yield [(_aligned(cells[n][0], n, width), cells[n][1]) for n, width in line]


def _aligned(text: str, place: int, width: int) -> str:
    if place == len(_HEAD) - 1:
        return text
    return text.rjust(width) if 2 <= place <= 6 else text.ljust(width)


def _cells(row: dict[str, Any]) -> list[tuple[str, str | None]]:
    state = row["state"]
    effs = [(_percent(row[name]), _colour(row[name], name)) for name in _EFF]
    elapsed = "---" if row["elapsed_s"] is None else clock(row["elapsed_s"])
    name = printable_line(row["name"] or "---")
    return [
        (printable_line(row["job_id"]), None),
        ((state or "---").upper(), _COLOURS.get(state)),
        (elapsed, None),
        *effs,
        (printable_line(row["user"] or "---"), None),
        (name if len(name) <= _NAME else f"{name[: _NAME - 1]}…", None),
    ]


def _percent(share: float | None) -> str:
    return "---" if share is None else f"{100 * share:.1f}%"


def _colour(share: float | None, name: str) -> str | None:
    if share is None:
        return None
    if share < 0.2 or (name == "mem_eff" and share > 0.9):
        return "red"
    return "green" if share > (0.6 if name == "mem_eff" else 0.8) else None
