"""Views of the study.

``declared`` declares the columns of each. The functions that build them are in modules of their
own, named in the declarations.
"""

from __future__ import annotations

from typing import Final

from harvest import View

from .declared import CLOCK_CHECK, FAILED_SCANS, FILE_TRANSFER, OFFLOAD, OUTLIERS, STREAMING

VIEWS: Final[tuple[View, ...]] = (
    *(OFFLOAD, FILE_TRANSFER, STREAMING),
    *(CLOCK_CHECK, FAILED_SCANS, OUTLIERS),
)
