"""What can be wrong with a log or with a part of it."""

from __future__ import annotations

__all__ = ["DamagedError"]


class DamagedError(Exception):
    """A log, or one region of it, cannot be read; the text says why."""
