"""Rejected records that were, or may have been, the row of a job.

The steps below such a row are its own, although it is not there: they must not be taken for steps
of the job above it, which may be an earlier run of the same id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

from harvest import ReadContext, Reject


@attrs.frozen(order=True)
class Lost:
    """A job whose row was rejected.

    position: in the input.  job_id: its id; empty where that cannot be read.
    """

    position: int
    job_id: str = ""


_AT_BEGIN: Final = re.compile(rb'[\s"]*(\d+(?:_\d+|_\[[^\]]*\]|\+\d+)?)(?!\w)(\.\w)?')
"""Id of a job at the begin of a record, and what shows that it is one of its steps."""

_IDS: Final = ("JobID", "JobIDRaw")


class LostJobs:
    """Gathers the rejects of a context, whoever reports them.

    Those of neighbouring lines, with no row between them, are one run: its last position, and the
    last that is a job by the begin of its text, or by what it would have become.
    """

    def __init__(self, ctx: ReadContext):
        self._runs: list[tuple[int, Lost | None]] = []
        keep = ctx.on_reject or ctx.rejects.append

        def both(reject: Reject) -> None:
            self._add(reject)
            keep(reject)

        ctx.on_reject = both

    def _add(self, reject: Reject) -> None:
        place = reject.position
        if place is None or reject.record_type == "slurm.step":
            return
        job = None
        if self._runs and self._runs[-1][0] + 1 == place:
            _, job = self._runs.pop()
        begin = _AT_BEGIN.match(reject.raw)
        if begin is not None and not begin[2]:
            job = Lost(place, begin[1].decode())
        elif reject.record_type == "slurm.job":
            job = Lost(place)
        self._runs.append((place, job))

    def take(self, names: Sequence[str]) -> list[Lost]:
        """Those since the last call, in order; names: fields of the dump.

        A record that begins with its id shows whether it is a job or a step.  Where the id stands
        elsewhere, a line that could not be divided into fields may be any job.
        """
        found = [job for _, job in self._runs if job]
        if names[0] not in _IDS:
            found = [Lost(last) for last, _ in self._runs]
        elif names[0] == "JobIDRaw" and "JobID" in names:  # another spelling than that of steps
            found = [Lost(job.position) for job in found]
        self._runs.clear()
        return sorted(found)
