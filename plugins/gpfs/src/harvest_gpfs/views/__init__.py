"""Views of one scan, and of changes between scans.

Their functions are in files of their own, imported on first use.
"""

from __future__ import annotations

from typing import Final

from . import listed, sums

VIEWS: Final = (*sums.USES, *listed.CHANGES, *sums.CLASSES, *listed.PATHS)
