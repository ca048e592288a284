"""Views of jobs, declared; the functions that build them are imported when one is asked for."""

from __future__ import annotations

from typing import Final

from .declared.failures import REASONS
from .declared.groups import ARRAYS, ENDS, FAILURES, USAGE
from .declared.runs import EFFICIENCY, JOBS, QUEUE_TIME, WORST_DAYS
from .declared.trend import TREND

VIEWS: Final = (
    JOBS,
    EFFICIENCY,
    QUEUE_TIME,
    WORST_DAYS,
    USAGE,
    TREND,
    ENDS,
    FAILURES,
    REASONS,
    ARRAYS,
)
