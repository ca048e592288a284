"""What the plugin declares."""

from collections.abc import Iterable

import harvest

harvest_api = 1


@harvest.hookimpl
def harvest_engines() -> Iterable[harvest.EngineSpec]:
    """The engine."""
    return [
        harvest.EngineSpec(
            name="futures",
            doc="worker processes of concurrent.futures",
            factory="harvest_futures.engine:FuturesEngine",
        )
    ]
