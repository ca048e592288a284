"""Meanings of PBS records and exit statuses, in the words of Slurm's states.

From OpenPBS (``acct.h``, ``job.h``) and Torque (``pbs_job.h``), whose codes differ below -7.
"""

from collections.abc import Mapping
from typing import Final

_EVENTS: Final = """
    Q:queued S:started E:ended R:requeued D:deleted A:aborted C:checkpointed T:restarted
    L:licences M:moved a:altered z:suspended r:resumed s:nodes_pruned
    u:phase_updated c:phase_begun e:phase_ended P:provisioning_started p:provisioning_ended
    U:reservation_requested Y:reservation_confirmed B:reservation_begun F:reservation_finished
    K:reservation_removed k:reservation_deleted"""

EVENTS: Final = dict(pair.split(":") for pair in _EVENTS.split())
"""Letter of a record -> what happened."""

NOT_JOBS: Final = "LUYBFKk"
"""Letters of records whose id is not a job id."""

RUNS: Final = "QSER"
"""Letters of records that describe a run of a job."""

ENDS: Final = ("E", "R")
"""Letters of records of a run that ended."""

SIGNAL_BASE: Final = 256
"""A job that signal n ended has the exit status 256 + n."""

_STATUSES: Final = {
    "launch_failed": (-1, -2, -3, -7, -10, -13, -16, -17, -21, -22, -23, -30),
    "node_fail": (-4, -5, -6, -14, -20),
    "requeued": (-11, -12, -15, -18),
    "out_of_memory": (-26, -27),
    "timeout": (-28, -29),
    "cancelled": (-19,),
}
_OF_TORQUE: Final = {
    "launch_failed": (-1, -2, -3, -7, -8, -9, -13, -14),
    "node_fail": (-4, -5, -6),
    "out_of_memory": (-10,),
    "timeout": (-11, -12),
}


def _by_status(statuses: Mapping[str, tuple[int, ...]]) -> dict[int, str]:
    return {status: state for state, each in statuses.items() for status in each}


SERVER_STATES: Final = _by_status(_STATUSES)
"""Exit status of OpenPBS and PBS Professional -> state; any other below 0 means failed."""
TORQUE_STATES: Final = _by_status(_OF_TORQUE)
"""The same for Torque, whose records name an owner."""

ENDERS: Final = (9, 15)
"""The signals with which PBS ends a job at its time limit."""

_LETTERS: Final = "Q:pending H:pending W:pending T:pending R:running B:running S:suspended"
_MORE: Final = "U:suspended E:completing M:revoked"
QSTAT_STATES: Final = dict(pair.split(":") for pair in f"{_LETTERS} {_MORE}".split())
"""``job_state`` of qstat -> state; that of a finished job (F, X) follows from its exit status."""

DELETED: Final = "91"
"""The ``substate`` of a job that was deleted."""

FINISHED: Final = ("F", "X")
"""The ``job_state`` letters of jobs and tasks that ended."""
