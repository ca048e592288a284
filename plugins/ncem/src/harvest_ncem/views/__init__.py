"""Views of the study.

``declared`` has what each gives; the function that makes it is in a file of its own, as the view
says.
"""

from __future__ import annotations

from typing import Final

from harvest import View

from .declared.durations import FILE_TRANSFER, OUTLIERS, STREAMING
from .declared.scans import CLOCK_CHECK, FAILED_SCANS, OFFLOAD

VIEWS: Final[tuple[View, ...]] = (
    *(OFFLOAD, FILE_TRANSFER, STREAMING),
    *(CLOCK_CHECK, FAILED_SCANS, OUTLIERS),
)
