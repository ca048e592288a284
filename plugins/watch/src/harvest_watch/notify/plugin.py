"""What this plugin does after a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harvest import hookimpl

if TYPE_CHECKING:
    from harvest import Dataset, RunResult

harvest_api = 1


@hookimpl
def harvest_committed(dataset: Dataset, result: RunResult | None) -> None:
    """Say what is new to whom it has not been said, if somebody is to hear of it."""
    if result is None:  # it went back to a state of which all was said
        return
    from .config import configured  # late: most runs have nobody to speak to

    config = configured(result.settings.get("notify", {}))
    if config.receivers:
        from .saying import say

        say(dataset, result, config)
