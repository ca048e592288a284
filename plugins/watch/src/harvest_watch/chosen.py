"""A view or report that a text names, with its settings: ``slurm.usage:by=account``."""

from __future__ import annotations

import re
from typing import Final

from harvest import UsageError

_BETWEEN: Final = re.compile(r",(?=\w+=)")


def chosen(text: str, where: str) -> tuple[str, dict[str, str]]:
    """The name and the settings in ``NAME`` or ``NAME:KEY=VALUE,KEY=VALUE``.

    Raises UsageError for another text; where: what gave it.
    """
    name, colon, rest = text.strip().partition(":")
    pairs = [each.partition("=") for each in _BETWEEN.split(rest)] if colon else []
    if not name or any(not key or not equals for key, equals, _ in pairs):
        raise UsageError(
            f"{text!r} has no NAME or no KEY=VALUE",
            where=where,
            remedy="write NAME or NAME:KEY=VALUE, for example slurm.usage:by=account",
        )
    return name, {key: value for key, _, value in pairs}
