"""A bug: one line on it, where it is planted, and the test of the kit that finds it."""

from __future__ import annotations

import attrs


@attrs.frozen
class Bug:
    """A bug, said in a line, planted by replacing texts; ``found_by`` is empty if nothing does.

    where: of ``sources.PLANTINGS``.  why: of one that cannot be found from outside.
    """

    says: str
    where: str
    changes: tuple[tuple[str, str], ...]
    found_by: str = ""
    why: str = ""


def bug(says: str, where: str, found_by: str, *texts: str) -> Bug:
    """A bug that a test finds; texts: old, new, old, new, ..."""
    return Bug(says, where, tuple(zip(texts[::2], texts[1::2], strict=True)), found_by)


def unseen(says: str, where: str, why: str, *texts: str) -> Bug:
    """A bug that nothing can find from outside."""
    return Bug(says, where, tuple(zip(texts[::2], texts[1::2], strict=True)), why=why)
