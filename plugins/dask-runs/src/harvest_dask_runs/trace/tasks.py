"""Executions, transfers and the critical path as slices of a trace.

The receiver, the sender or both record a transfer.  Each record is a slice on its worker's track of
incoming or outgoing transfers.  If only one side recorded it, the other side's track gets a slice,
too, of category ``transfer.untold``.  A flow leads from the outgoing slice to the incoming one,
unless the latter ends before the former begins, since clocks differ.
"""

from collections.abc import Iterator

import polars as pl

from harvest_toolkit.frames import first_text

from ..critical_path import COMPUTING
from ..frames import moved_bytes
from .tracks import Tracks, args_of, microseconds_since, with_lanes, with_numbers

PATH_PLACE = 5
WORKER_PLACE = 100
UNKNOWN_PLACE = 90
TRANSFERS_PLACE = 1_000_000
LANES = 1_000


def place_tasks(found: pl.DataFrame, last_time: object) -> pl.DataFrame:
    """Add ``lane`` to the executions of one run, and an end where none was recorded.

    last_time: the end of executions that were never seen to end.  Executions without any time are
    left out.
    """
    end = pl.col("end").fill_null(pl.max_horizontal("start", pl.lit(last_time)))
    timed = found.with_columns(end=end).drop_nulls(["start", "end"])
    return with_lanes(timed, ["worker", "thread"])


def worker_pid(tracks: Tracks, worker: str | None) -> int:
    """Return the number of a worker's process in the trace."""
    if worker is None:
        return tracks.process(("worker", None), "worker not recorded", UNKNOWN_PLACE)
    return tracks.process(("worker", worker), f"worker {worker}", WORKER_PLACE)


def task_events(placed: pl.DataFrame, tracks: Tracks) -> Iterator[pl.DataFrame]:
    """Yield batches of events, with one slice for each execution; placed: from ``place_tasks``."""
    order: dict[tuple[str | None, int | None], int] = {}

    def number(worker: str | None, thread: int | None, lane: int) -> tuple[int, int]:
        pid = worker_pid(tracks, worker)
        place = order.setdefault((worker, thread), len(order)) * LANES + lane
        more = "" if lane == 0 else f" · overlap {lane}"
        name = "thread not recorded" if thread is None else f"thread {thread}"
        key = ("thread", thread, lane)
        return pid, tracks.thread(pid, key, name + more, min(place, TRANSFERS_PLACE))

    yield from tracks.slices(
        with_numbers(placed, ["worker", "thread", "lane"], number),
        pid="number",
        name=pl.coalesce("prefix", "key"),
        cat=pl.lit("task"),
        args=args_of(
            key="key",
            outcome=pl.col("outcome").fill_null("not seen to end"),
            told_by=first_text(
                (pl.col("by_scheduler") & pl.col("by_worker"), "scheduler and worker"),
                (pl.col("by_scheduler"), "scheduler"),
            ).fill_null("worker"),
            begins_us=microseconds_since(tracks.start, pl.col("begins")),
            ends_us=microseconds_since(tracks.start, pl.col("ends")),
            size_bytes="size_bytes",
        ),
    )


def path_events(path: pl.DataFrame, tracks: Tracks) -> Iterator[pl.DataFrame]:
    """Yield batches of events: a slice for each execution of the path, and each wait before it.

    path: of one run, as of ``critical_path``.
    """
    if path.is_empty():
        return
    pid = tracks.process(("critical path",), "critical path", PATH_PLACE)
    tid = tracks.thread(pid, ("critical path",), "executed, or waited for", 0)
    executed = pl.col("part") == COMPUTING
    yield from tracks.slices(
        path.with_columns(tid=pl.lit(tid, pl.Int64)),
        pid=pl.lit(pid, pl.Int64),
        name=pl.when(executed).then(pl.coalesce("prefix", "key")).otherwise("part"),
        cat=pl.when(executed).then(pl.lit("path")).otherwise(pl.lit("path.wait")),
        args=args_of(step="step", key="key", worker="worker", link="link", after="after"),
    )


CLIENTS_PLACE = 10
OPPOSITE = {"incoming": "outgoing", "outgoing": "incoming"}
MOVEMENT = ["fulfiller", "requestor", "signature", "nth"]


def transfer_slices(transfers: pl.DataFrame) -> pl.DataFrame:
    """Make a row per slice: place, direction, recorded, movement, start, end, bytes, keys, lane.

    transfers: rows of dask.transfer of one run.  Rows without any time are left out.
    """
    names = pl.col("keys").list.eval(pl.element().struct.field("key"))
    sides = (
        transfers.with_row_index("row")
        .with_columns(
            start=pl.coalesce("start_time", "time", "end_time"),
            end=pl.coalesce("end_time", "time", "start_time"),
            bytes=moved_bytes(),
            names=names,
            signature=names.list.sort().list.join("\x1f").fill_null(""),
        )
        .drop_nulls("start")
        # the shortest slice is drawn with one microsecond, the clock's resolution
        .with_columns(end=pl.max_horizontal("end", pl.col("start") + pl.duration(microseconds=1)))
        .sort("start", "row")
        .with_columns(
            nth=pl.int_range(pl.len()).over("direction", "fulfiller", "requestor", "signature")
        )
    )
    movements = sides.select(MOVEMENT).unique(maintain_order=True).with_row_index("movement")
    sides = sides.join(movements, on=MOVEMENT, how="left", nulls_equal=True).with_columns(
        recorded=pl.lit(value=True)
    )
    alone = (
        sides.filter(pl.len().over("movement") == 1)
        .with_columns(
            direction=pl.col("direction").replace_strict(OPPOSITE, default=None),
            recorded=pl.lit(value=False),
        )
        .drop_nulls("direction")
    )
    sends = pl.when(pl.col("direction") == "outgoing")
    place = sends.then("fulfiller").otherwise("requestor")
    slices = pl.concat([sides, alone]).with_columns(
        # a side without a worker is the reporting worker, else a client
        place=pl.when("recorded").then(pl.coalesce("worker", place)).otherwise(place),
        peer=sends.then("requestor").otherwise("fulfiller"),
    )
    return with_lanes(slices, ["place", "direction"])


def transfer_events(slices: pl.DataFrame, tracks: Tracks) -> Iterator[pl.DataFrame]:
    """Yield batches of events: the slices, and a flow for each movement that has two."""

    def number(place: str | None, direction: str, lane: int) -> tuple[int, int]:
        if place is None:
            pid = tracks.process(("clients",), "clients", CLIENTS_PLACE)
        else:
            pid = worker_pid(tracks, place)
        name = f"transfers {direction}" + ("" if lane == 0 else f" · {lane + 1}")
        order = TRANSFERS_PLACE + (LANES if direction == "outgoing" else 0) + lane
        return pid, tracks.thread(pid, ("transfers", direction, lane), name, order)

    numbered = with_numbers(slices, ["place", "direction", "lane"], number)
    peer = pl.col("peer").fill_null("a client")
    outgoing = pl.col("direction") == "outgoing"
    yield from tracks.slices(
        numbered,
        pid="number",
        name=pl.when(outgoing).then(pl.lit("send to ")).otherwise(pl.lit("receive from ")) + peer,
        cat=pl.when("recorded").then(pl.lit("transfer")).otherwise(pl.lit("transfer.untold")),
        args=args_of(bytes="bytes", keys="names", told_by="worker", copies="copies"),
    )
    yield from tracks.events(_flows(numbered.rename({"number": "pid"}), tracks.start))


def _flows(numbered: pl.DataFrame, start: int) -> pl.DataFrame:
    columns = ("movement", "start", "end", "pid", "tid")
    sent = numbered.filter(pl.col("direction") == "outgoing").select(columns)
    received = numbered.filter(pl.col("direction") == "incoming").select(columns)
    both = (
        sent.join(received, on="movement", suffix="_in")
        # an arrow never leads back in time
        .with_columns(arrives=pl.max_horizontal("start", "start_in"))
        .filter(pl.col("arrives") < pl.col("end_in"))
    )
    common = {"name": pl.lit("transfer"), "cat": pl.lit("transfer")}
    begun = both.select(
        "pid", "tid", **common, ph=pl.lit("s"), id="movement",
        ts=microseconds_since(start, pl.col("start")),
    )  # fmt: skip
    ended = both.select(
        pid="pid_in", tid="tid_in", **common, ph=pl.lit("f"), id="movement",
        ts=microseconds_since(start, pl.col("arrives")), bp=pl.lit("e"),
    )  # fmt: skip
    return pl.concat([begun, ended], how="diagonal")
