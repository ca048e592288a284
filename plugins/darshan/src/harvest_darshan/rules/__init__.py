"""Rules on I/O: what slows a job's reads and writes, and what its logs do not say.

Where Drishti (0.8) decides from the same counters, the thresholds are its own.  How much a
finding matters is decided by what it may cost: see :mod:`.words`.
"""

from __future__ import annotations

from typing import Final

from harvest import Rule

from .files import FILE_RULES
from .jobs import JOB_RULES
from .requests import REQUEST_RULES

RULES: Final[tuple[Rule, ...]] = (*REQUEST_RULES, *FILE_RULES, *JOB_RULES)
