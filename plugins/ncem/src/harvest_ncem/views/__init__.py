"""Views of the study.

``declared`` has what each gives; the function that makes it is in a file of its own, as the view
says.
"""

from __future__ import annotations

from typing import Final

from harvest import View

from .declared import CLOCK_CHECK, FAILED_SCANS, FILE_TRANSFER, OFFLOAD, OUTLIERS, STREAMING

VIEWS: Final[tuple[View, ...]] = (
    *(OFFLOAD, FILE_TRANSFER, STREAMING),
    *(CLOCK_CHECK, FAILED_SCANS, OUTLIERS),
)
