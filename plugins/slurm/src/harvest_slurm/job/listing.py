"""One line per job, like reportseff: state, time, and the shares of resources that it used."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.texts import printable_line

from ..values.scalars import STATES
from .words import clock

_HEAD: Final = (
    *("JobID", "State", "Elapsed", "TimeEff", "CPUEff"),
    *("MemEff", "GPUEff", "User", "Name"),
)
_EFF: Final = ("timelimit_eff", "cpu_eff", "mem_eff", "gpu_eff")
_NAME: Final = 24
_Cell: TypeAlias = "tuple[str, str | None]"
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
    """Return rows of slurm.efficiency by settings, ids (an array's means all its tasks) and states.

    Raises UsageError for a state that does not exist, and for an id that no chosen job has.
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
            f"no job {', '.join(lacking)} among the chosen ones",
            remedy="list all jobs with: harvest slurm jobs DATASET",
        )
    return found


def lines(jobs: pl.DataFrame) -> Iterator[list[_Cell]]:
    """Return the cells of each line with their colours, the heading first, without empty columns.

    Colours are those of reportseff. Green: more than 80 % of time or CPUs, 60 to 90 % of memory.
    Red: less than 20 %, or more than 90 % of memory.
    """
    rows = [[(head, "bold") for head in _HEAD], *map(_cells, jobs.iter_rows(named=True))]
    columns = list(zip(*rows, strict=True))
    kept = [
        _aligned(place, column)
        for place, column in enumerate(columns)
        if place < 3 or any(text != "---" for text, _ in column[1:])
    ]
    yield from map(list, zip(*kept, strict=True))


def _aligned(place: int, column: Sequence[_Cell]) -> Sequence[_Cell]:
    if place == len(_HEAD) - 1:
        return column
    width = max(len(text) for text, _ in column)
    align = str.rjust if 2 <= place <= 6 else str.ljust
    return [(align(text, width), colour) for text, colour in column]


def _cells(row: dict[str, Any]) -> list[_Cell]:
    state = row["state"]
    name = printable_line(row["name"] or "---")
    return [
        (printable_line(row["job_id"]), None),
        ((state or "---").upper(), _COLOURS.get(state)),
        ("---" if row["elapsed_s"] is None else clock(row["elapsed_s"]), None),
        *(_share(row[name], name) for name in _EFF),
        (printable_line(row["user"] or "---"), None),
        (name if len(name) <= _NAME else f"{name[: _NAME - 1]}…", None),
    ]


def _share(share: float | None, name: str) -> _Cell:
    if share is None:
        return "---", None
    good, most = (0.6, 0.9) if name == "mem_eff" else (0.8, math.inf)
    colour = "red" if share < 0.2 or share > most else "green" if share > good else None
    return f"{100 * share:.1f}%", colour
