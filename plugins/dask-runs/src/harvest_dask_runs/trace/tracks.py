"""Events of a trace, their tracks (processes and threads), and lanes for overlapping slices.

Format: the Trace Event Format that Chrome's tracing and Perfetto read.  Its ``pid`` and ``tid``
number tracks and are not ids of the operating system, since those of several hosts may be equal
and a pthread id does not fit.  Names of tracks show the ids.  The slices of one track must nest or
not overlap.  Overlaps are rare: they are found column-wise, and only their tracks are processed
row by row.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

import orjson
import polars as pl

from harvest.model.frames import types_of

from ..views.declared.io import TRACE_COLUMNS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

EVENT: Final = types_of(TRACE_COLUMNS)
"""Columns of an event.  ts, dur: microseconds, ts since the start of the run; args: JSON text."""

BATCH_ROWS: Final = 65_536
FIRST_TID: Final = 1_000_001
"""First number of a thread, above those of processes: tid = pid would mean a main thread."""


class Tracks:
    """The numbers of processes and their threads in a trace, and the events that name them.

    run: its directory; start: microseconds of the epoch at which its first event is.
    left_out: by what they are, rows that no event shows.
    """

    def __init__(self, run: str, before: Self | None = None):
        """before: the tracks of another run in the same trace, whose numbers go on here."""
        self.run = run
        self.start = 0
        self.left_out: Counter[str] = Counter()
        self._next_pid: Iterator[int] = before._next_pid if before else itertools.count(1)
        self._next_tid: Iterator[int] = before._next_tid if before else itertools.count(FIRST_TID)
        self._pids: dict[tuple[Any, ...], int] = {}
        self._tids: dict[tuple[Any, ...], int] = {}
        self._labelled: set[int] = set()
        self._news: list[dict[str, Any]] = []

    def process(self, key: tuple[Any, ...], name: str, place: int) -> int:
        """Return the number of a process, which is named when first met; place: its order."""
        pid = self._pids.get(key)
        if pid is None:
            pid = self._pids[key] = next(self._next_pid)
            self._tell("process_name", pid, None, {"name": name})
            self._tell("process_sort_index", pid, None, {"sort_index": place})
        return pid

    def label(self, pid: int, text: str) -> None:
        """Show more about a process, once."""
        if text and pid not in self._labelled:
            self._labelled.add(pid)
            self._tell("process_labels", pid, None, {"labels": text})

    def thread(self, pid: int, key: tuple[Any, ...], name: str, place: int) -> int:
        """Return the number of a thread of a process, which is named when first met."""
        tid = self._tids.get((pid, *key))
        if tid is None:
            tid = self._tids[pid, *key] = next(self._next_tid)
            self._tell("thread_name", pid, tid, {"name": name})
            self._tell("thread_sort_index", pid, tid, {"sort_index": place})
        return tid

    def slices(self, rows: pl.DataFrame, **columns: str | pl.Expr) -> Iterator[pl.DataFrame]:
        """Yield the events that name tracks first met since the last call, then a slice a row.

        rows: with the columns start, end and tid.
        columns: further columns of a slice: pid, name, cat, args.
        """
        names, self._news = self._news, []
        schema = {name: EVENT[name] for name in ("name", "ph", "pid", "tid", "args")}
        yield from self.events(pl.DataFrame(names, schema=schema))
        ts = microseconds_since(self.start, pl.col("start"))
        dur = (pl.col("end") - pl.col("start")).dt.total_microseconds()
        for batch in rows.iter_slices(BATCH_ROWS):
            yield from self.events(batch.select("tid", **columns, ph=pl.lit("X"), ts=ts, dur=dur))

    def events(self, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield events in batches, completed to all columns of EVENT, in its order."""
        empty = pl.DataFrame(schema=EVENT)
        for batch in rows.iter_slices(BATCH_ROWS):
            named = batch.with_columns(run=pl.lit(self.run))
            typed = named.cast({name: EVENT[name] for name in named.columns})
            yield pl.concat([empty, typed], how="diagonal")

    def _tell(self, what: str, pid: int, tid: int | None, args: dict[str, Any]) -> None:
        text = orjson.dumps(args).decode()
        self._news.append({"name": what, "ph": "M", "pid": pid, "tid": tid, "args": text})


def with_numbers(
    placed: pl.DataFrame, by: Sequence[str], number: Callable[..., tuple[int, int]]
) -> pl.DataFrame:
    """Add the numbers that a function of the columns ``by`` gives: number (of a process), tid."""
    ids = [
        (*line, *number(*line))
        for line in placed.select(by).unique().sort(by, nulls_last=True).iter_rows()
    ]
    schema = {name: placed.schema[name] for name in by}
    schema |= {"number": pl.Int64(), "tid": pl.Int64()}
    numbers = pl.DataFrame(ids, schema=schema, orient="row")
    return placed.join(numbers, on=by, how="left", nulls_equal=True, maintain_order="left")


def args_of(**columns: str | pl.Expr) -> pl.Expr:
    """Encode columns as a JSON object, by name."""
    return pl.struct(**columns).struct.json_encode()


def micros_of(time: datetime | None) -> int:
    """Convert a time to microseconds of the epoch; 0 if it is unknown."""
    return 0 if time is None else (time - _EPOCH) // timedelta(microseconds=1)


def iso_of(micros: int) -> str:
    """Format microseconds of the epoch as ISO 8601."""
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds")


def microseconds_since(start: int, time: pl.Expr) -> pl.Expr:
    """Compute microseconds from ``start``, in microseconds of the epoch, to a column's times."""
    return time.dt.epoch("us") - start


def with_lanes(frame: pl.DataFrame, by: list[str], *, nest: bool = False) -> pl.DataFrame:
    """Number lanes from 0 in the column ``lane``: within a track and lane no two rows overlap.

    frame: has the columns ``start`` and ``end`` (start <= end, not null); its order is kept.
    by: columns that name the track; null is a value like any other.
    nest: an interval may also lie within another one of the same lane.

    Intervals that touch do not overlap.
    """
    before = pl.col("end").cum_max().shift(1).over(by)
    numbered = frame.with_row_index("_row")
    clash = (
        numbered.sort(*by, "start", "end")
        .filter((pl.col("start") < before).fill_null(value=False))
        .select(by)
        .unique()
    )
    odd = numbered.join(clash, on=by, how="semi", nulls_equal=True)
    rows: list[int] = []
    lanes: list[int] = []
    for group in odd.partition_by(by):
        ordered = group.sort("start", "end", descending=[False, nest])
        rows += ordered["_row"].to_list()
        starts, ends = (ordered[c].to_physical().to_list() for c in ("start", "end"))
        lanes += _lanes(starts, ends, nest=nest)
    placed = pl.DataFrame(
        {"_row": rows, "lane": lanes}, schema={"_row": numbered.schema["_row"], "lane": pl.Int64}
    )
    return (
        numbered.join(placed, on="_row", how="left", maintain_order="left")
        .with_columns(pl.col("lane").fill_null(0))
        .drop("_row")
    )


def _lanes(starts: list[int], ends: list[int], *, nest: bool) -> list[int]:
    """Find the first lane that is free for each interval, or with ``nest`` holds it whole.

    The intervals are ordered by start and, with ``nest``, the longest first.
    """
    open_ends: list[list[int]] = []
    lanes = []
    for start, end in zip(starts, ends, strict=True):
        for number, stack in enumerate(open_ends):
            while stack and stack[-1] <= start:
                stack.pop()
            if not stack or (nest and end <= stack[-1]):
                stack.append(end)
                lanes.append(number)
                break
        else:
            lanes.append(len(open_ends))
            open_ends.append([end])
    return lanes
