"""The worker plugin as the scheduler sends it: by value, so that a worker without harvest starts.

Dask sends a class by its name where it can, and a worker that cannot import it would not start.
A class that a function makes has no name to be imported by, so its code travels.
"""

from __future__ import annotations

import time
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from .settings import TOPIC

__all__ = ["worker_plugin"]


def worker_plugin(settings: dict[str, Any], *, clock: bool) -> WorkerPlugin:
    """The plugin for all workers; ``clock`` where the scheduler answers what time it is."""
    topic = TOPIC

    class HarvestCapture(WorkerPlugin):
        """Captures a worker, if hpc-harvest-dask is installed there."""

        capture: Any = None

        async def setup(self, worker: Any) -> None:
            try:
                from harvest_dask.worker import WorkerCapture
            except ImportError as error:
                reason = f"{error}: install hpc-harvest-dask where the workers run"
                worker.log_event(
                    topic,
                    {
                        "capture": settings["capture"],
                        "process": worker.address,
                        "since": time.time(),
                        "reason": reason,
                        "lost": None,
                    },
                )
                return
            self.capture = await WorkerCapture.begin(worker, settings, clock=clock)
            if self.capture is not None:
                self.transition = self.capture.transition  # type: ignore[method-assign]

        async def teardown(self, worker: Any) -> None:
            if self.capture is not None:
                await self.capture.end()

    return HarvestCapture()
