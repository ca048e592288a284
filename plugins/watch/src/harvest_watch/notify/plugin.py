"""Hook of the plugin that runs after a commit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from harvest import hookimpl

if TYPE_CHECKING:
    from harvest import Dataset, RunResult


@hookimpl
def harvest_committed(result: RunResult | None, open_dataset: Callable[[], Dataset]) -> None:
    """Send news to the configured receivers that did not receive it."""
    if result is None:  # rolled back to a state that was already reported
        return
    given = result.settings.get("notify", {})
    if not given and not any(name.startswith("HARVEST_NOTIFY") for name in os.environ):
        return
    from .config import configured  # late: most runs have no receivers

    config = configured(given)
    if config.receivers:
        from .saying import say

        say(open_dataset(), result, config)
