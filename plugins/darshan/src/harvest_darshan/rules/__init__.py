"""Rules on I/O: what slows a job's reads and writes, and what its logs do not contain.

If Drishti 0.8 checks the same counters, the thresholds are Drishti's. The severity of a finding
depends on the share of time that it concerns: see :mod:`.words`.
"""

from typing import Final

from harvest import Rule

from .files import FILE_RULES
from .jobs import JOB_RULES
from .requests import REQUEST_RULES

RULES: Final[tuple[Rule, ...]] = (*REQUEST_RULES, *FILE_RULES, *JOB_RULES)
