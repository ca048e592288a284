"""Views of one scan, and of how scans differ.

Their functions, in files of their own beside them, are imported when a view is asked for.
"""

from __future__ import annotations

from typing import Final

from . import listed, sums

VIEWS: Final = (*sums.USES, *listed.CHANGES, *sums.CLASSES, *listed.PATHS)
