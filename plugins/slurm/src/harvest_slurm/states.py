"""Job states of sacct."""

from __future__ import annotations

from typing import Final

STATES: Final = [
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "CONFIGURING", "COMPLETING", "DEADLINE"),
    *("EXPEDITING", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PENDING"),
    *("POWER_UP_NODE", "PREEMPTED", "RECONFIG_FAIL", "RECORD_EXPIRED", "REQUEUED", "REQUEUE_FED"),
    *("REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD", "REVOKED", "RUNNING", "SIGNALING"),
    *("SPECIAL_EXIT", "STAGE_OUT", "STOPPED", "SUSPENDED", "TIMEOUT", "UPDATE_DB"),
]
"""The job states that sacct may print, in their long form."""
