"""Hook of the plugin that runs after a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harvest import hookimpl

if TYPE_CHECKING:
    from harvest import Dataset, RunResult


@hookimpl
def harvest_committed(dataset: Dataset, result: RunResult | None) -> None:
    """Send news to the configured receivers that did not receive it."""
    if result is None:  # rolled back to a state that was already reported
        return
    from .config import configured  # late: most runs have no receivers

    config = configured(result.settings.get("notify", {}))
    if config.receivers:
        from .saying import say

        say(dataset, result, config)
