"""Columns that follow from others: second sources, and times that the clock showed twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest_toolkit.clocks import Length, Shown, decide, named

from ..read.columns import Column, series
from ..values.convert import resource_maps
from ..values.kinds import KINDS, STRING, TIMESTAMP

_NONE: Final = pa.scalar(None, pa.float64())


def amounts(maps: Any) -> Callable[[str], Any]:
    """Return a function that gives the amounts of a resource in a column of maps."""
    encoded = maps.keys.dictionary_encode()
    codes, items, offsets = encoded.indices.to_numpy(), maps.items, maps.offsets.to_numpy()
    names = {name: code for code, name in enumerate(encoded.dictionary.to_pylist())}

    def of(key: str) -> Any:
        hits = np.flatnonzero(codes == names.get(key, -1))
        rows = np.searchsorted(offsets, hits, side="right") - 1
        index = np.full(len(maps), -1)
        index[rows[::-1]] = hits[::-1]
        return items.take(pa.array(index, mask=index < 0))

    return of


def listed(field: Column, wanted: Any) -> Any:
    """Return the amounts that a field lists, as maps; only those of the ``wanted`` rows, for speed.

    A text that cannot be read is not used; it is an error in its own column.
    """
    texts = pc.if_else(pc.and_(wanted, pa.array(field.full)), field.text, "")
    return resource_maps(KINDS["usage"], Column(texts)).values[""]


def elapsed(ready: Mapping[str, Any]) -> Any | None:
    """Return the seconds from start to end, without suspensions if those are known.

    None if one of both times is ambiguous because the clock showed it twice.
    """
    start, end = ready.get("start_time"), ready.get("end_time")
    if start is None or end is None:
        return None
    micros = pc.subtract(end, start).cast(pa.int64())
    seconds = pc.divide(micros.cast(pa.float64()), 1e6)
    if "suspended_s" in ready:
        seconds = pc.subtract(seconds, pc.fill_null(ready["suspended_s"], 0.0))
    known = pc.greater_equal(seconds, 0.0)
    if "undecided_times" in ready:
        doubt = pc.match_substring_regex(ready["undecided_times"], "start_time|end_time")
        known = pc.and_(known, pc.invert(pc.fill_null(doubt, False)))
    return pc.if_else(known, seconds, _NONE)


def total_cpu(ready: Mapping[str, Any]) -> Any | None:
    """Return the CPU seconds in user and system mode together."""
    user, system = ready.get("user_cpu_s"), ready.get("system_cpu_s")
    return None if user is None or system is None else pc.add(user, system)


def requested_cpus(ready: Mapping[str, Any]) -> Any | None:
    """Return the requested CPUs of jobs that ran."""
    asked, elapsed = ready.get("req_cpus"), ready.get("elapsed_s")
    if asked is None or elapsed is None:
        return None
    ran = pc.fill_null(pc.greater(elapsed, 0.0), False)
    return pc.if_else(ran, asked, pa.scalar(None, asked.type))


SOURCES: Final = {"elapsed_s": elapsed, "total_cpu_s": total_cpu, "alloc_cpus": requested_cpus}
"""Columns that follow from others, in this order; each is a function of the existing columns."""

_TIMES: Final = ("submit_time", "eligible_time", "start_time", "end_time")
_NOWHERE: Final = np.zeros(0, np.int64)


def decided(
    ready: Mapping[str, Any], twice: Mapping[str, tuple[Any, Any]], *, step: bool
) -> dict[str, Any]:
    """Return the columns of times, and ``undecided_times``.

    twice: by column, the rows of ambiguous times and by how much the second occurrence is later.

    Submit, Eligible, Start and End follow each other. Elapsed and Suspended are the time from Start
    to End, Planned that from Eligible to Start. A job that was cancelled before it ran may end
    before it is eligible. sacct also prints the Start of a step as its Submit.
    """
    times = {
        name: Shown(series(ready[name]), *twice.get(name, (_NOWHERE, _NOWHERE)))
        for name in _TIMES
        if name in ready
    }
    ran = None
    if "start_time" in times and "end_time" in times:
        ran = times["start_time"].first.ne_missing(times["end_time"].first).to_numpy()
    orders = [
        ("submit_time", "eligible_time", None),
        ("submit_time", "start_time", None),
        ("eligible_time", "start_time", ran),
        ("start_time", "end_time", None),
        *([("start_time", "submit_time", None)] if step else ()),
    ]
    paused = _seconds(ready, "suspended_s")
    ran_for = _seconds(ready, "elapsed_s") + np.nan_to_num(paused)
    planned = _seconds(ready, "planned_s")
    lengths = [
        Length("start_time", "end_time", ran_for, np.isnan(paused)),
        Length("eligible_time", "start_time", planned, np.zeros(len(planned), bool)),
    ]
    found = decide(times, orders, lengths)
    columns = {name: found.times[name].to_arrow().cast(TIMESTAMP) for name in twice}
    mark = named(found.undecided, len(planned))
    return {**columns, "undecided_times": mark.to_arrow().cast(STRING)}


def _seconds(ready: Mapping[str, Any], name: str) -> Any:
    column = ready.get(name)
    if column is None:
        return np.full(len(next(iter(ready.values()))), np.nan)
    return column.to_numpy(zero_copy_only=False)
