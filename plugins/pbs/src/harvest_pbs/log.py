"""Reads accounting logs in columns: a row of ``pbs.event`` per record, and the rows of jobs.

A record is ``MM/DD/YYYY HH:MM:SS;X;ID;TEXT``, as ``accounting.c`` of OpenPBS and Torque writes it.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest import Partition, ReadContext
from harvest.toolkit.amounts import count_in_words
from harvest_toolkit.line_blocks import Faults, Lines
from harvest_toolkit.pairs import fields, pairs
from harvest_toolkit.spans import Spans, strings
from harvest_toolkit.values import LocalTimes

from .records import Event, Job
from .runs import Runs
from .scalar import KNOWN, OF_EVENTS, SCHEMA, pairs_of, raw_row
from .states import EVENTS, NOT_JOBS, RUNS

_TIME: Final = "%m/%d/%Y %H:%M:%S"


class LogReader:
    """Reads one log."""

    def __init__(self, zone: str | None, ctx: ReadContext):
        self.ctx = ctx
        self.runs = Runs(ctx)
        self.clock = LocalTimes(_TIME, zone, "pbs.timezone")
        self.went_on = 0

    def read(self, blocks: Iterator[Lines]) -> Iterator[tuple[type, Any]]:
        """Return batches of events and jobs."""
        for lines in blocks:
            yield from self._block(lines)
        if self.runs.held is not None:
            yield Job, self.runs.rest()

    def note(self, partition: Partition) -> None:
        """Note what the reader assumed."""
        self.clock.note(self.ctx, partition)
        if self.went_on:
            self.ctx.note(
                f"in {count_in_words(self.went_on, 'record')} a value has blanks that PBS did not "
                "quote; what stands behind them is taken as part of it"
            )

    def _block(self, lines: Lines) -> Iterator[tuple[type, Any]]:
        faults = Faults()
        (time, kind, job, text), whole = fields(lines.spans, b";", 4)
        faults.mark(~whole, "not time;type;id;text")
        times = self.clock.read(time, faults)
        faults.mark(kind.length != 1, "its kind is not one letter")
        faults.mark(job.length == 0, "it has no id")
        codes, ids = strings(kind), strings(job)
        is_run = np.asarray(pc.is_in(codes, pa.array(list(RUNS))))
        runs = np.flatnonzero(is_run & whole)
        raw = self._runs(text, runs, faults)
        events = self._events(text, codes, raw, runs)
        events = events.append_column("time", times).append_column("code", codes)
        events = events.append_column("id", ids)
        events = self._named(lines.accept(events, faults, self.ctx, "pbs.event"))
        yield Event, events
        self.runs.delete(events)
        bad = np.zeros(len(lines), bool)
        bad[list(faults)] = True
        sound = ~bad[runs]
        chosen = runs[sound]
        self.ctx.read(len(chosen))
        records = raw.filter(pa.array(sound)).append_column("job_id", ids.take(pa.array(chosen)))
        records = records.append_column("code", codes.take(pa.array(chosen)))
        records = records.append_column("position", pa.array(lines.numbers[chosen]))
        yield Job, self.runs.add(records)

    def _runs(self, text: Spans, places: Any, faults: Faults) -> pa.Table:
        """Return the columns of ``SCHEMA`` of runs' records; unreadable ones become faults."""
        some = Spans(text.data, text.start[places], text.end[places])
        table, odd = pairs(some, KNOWN)
        table = table.select(SCHEMA.names).cast(SCHEMA)
        if not odd:
            return table
        again = []
        for place in odd:
            try:
                found, went_on = pairs_of(some.raw(place).decode())
                self.went_on += went_on
                again.append(raw_row(found))
            except ValueError as error:
                faults.setdefault(int(places[place]), str(error))
                again.append({})
        order = np.arange(len(places))
        order[list(odd)] = len(places) + np.arange(len(odd))
        both = pa.concat_tables([table, pa.Table.from_pylist(again, SCHEMA)])
        return both.take(pa.array(order))

    def _events(self, text: Spans, codes: pa.Array, raw: pa.Table, runs: Any) -> pa.Table:
        """Return the columns of events, except those of the head of a record.

        The text of a record that is not of a run and not ``key=value`` is a message.
        """
        others = np.delete(np.arange(len(codes)), runs)
        some = Spans(text.data, text.start[others], text.end[others])
        table, odd = pairs(some, OF_EVENTS)
        free = np.zeros(len(codes), bool)
        free[others[list(odd)]] = True
        place = np.empty(len(codes), np.int64)
        place[others] = np.arange(len(others))
        place[runs] = len(others) + np.arange(len(runs))
        # among records of runs, only a start has values that its job's row lacks
        silent = free.copy()
        silent[runs] = np.asarray(pc.not_equal(codes, "S"))[runs]
        found = {"message": strings(text, free & (text.length > 0))}
        for name, hidden in {"user": free, "partition": free, "extra": silent}.items():
            both = pa.chunked_array([*table[name].chunks, *raw[name].chunks])
            found[name] = both.take(pa.array(place, mask=hidden))
        is_run = np.isin(np.arange(len(codes)), runs)
        asked = pa.array(np.where(is_run, 0, place), mask=is_run | free)
        found["requestor"] = table["requestor"].take(asked)
        return pa.table(found)

    def _named(self, events: pa.Table) -> pa.Table:
        code = events["code"]
        place = pc.index_in(code, pa.array(list(EVENTS)))
        events = events.append_column("event", pa.array(list(EVENTS.values())).take(place))
        is_job = pc.invert(pc.is_in(code, pa.array(list(NOT_JOBS))))
        return events.append_column("job_id", pc.if_else(is_job, events["id"], None))
