"""Views of one scan, and of how scans differ: what each means, by what they are about.

Their functions, in files of their own beside them, are imported when a view is asked for.
"""

from __future__ import annotations

from typing import Final

from . import ages, changes, paths, space

VIEWS: Final = (*space.VIEWS, *changes.VIEWS, *ages.VIEWS, *paths.VIEWS)
