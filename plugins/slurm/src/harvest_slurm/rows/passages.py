"""Times of a row that the clock showed twice, decided by what else the row says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from harvest_toolkit.clocks import Length, Shown, decide, named

from ..read.columns import series
from ..values.kinds import STRING, TIMESTAMP

_TIMES: Final = ("submit_time", "eligible_time", "start_time", "end_time")
_NONE: Final = np.zeros(0, np.int64)


def decided(
    ready: Mapping[str, Any], twice: Mapping[str, tuple[Any, Any]], *, step: bool
) -> dict[str, Any]:
    """The columns of times, and ``undecided_times``.

    twice: by column, the rows of such times and how much later the second passage of each is.

    Submit, Eligible, Start and End follow each other; Elapsed and Suspended are the time from Start
    to End, Planned that from Eligible to Start.  A job that was cancelled before it ran may end
    before it is eligible.  sacct prints a step's Start as its Submit, too.
    """
    times = {
        name: Shown(series(ready[name]), *twice.get(name, (_NONE, _NONE)))
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
    """A column of seconds, NaN where it has none."""
    column = ready.get(name)
    if column is None:
        return np.full(len(next(iter(ready.values()))), np.nan)
    return column.to_numpy(zero_copy_only=False)
