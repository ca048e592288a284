"""Preload module for ``dask scheduler`` and ``dask worker``: capture from the first event on.

A preload of the scheduler also captures its workers. The settings come from Dask's configuration
(``harvest.capture``). If they are invalid, the cluster starts without a capture, and the log says
why.
"""

import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from distributed import Scheduler, Worker

from .scheduler import SchedulerCapture, worker_plugin
from .settings import CaptureError, settings_from_dask
from .write.directory import join_capture

logger = logging.getLogger("harvest_dask")


async def dask_setup(service: Any) -> None:
    """Dask calls this when a scheduler or worker starts."""
    if not isinstance(service, Scheduler | Worker):
        return  # a nanny does no work itself; its worker is captured
    try:
        asked = settings_from_dask()
        settings = replace(asked, capture=join_capture(asked.directory))
        if isinstance(service, Worker):
            plugin = worker_plugin(asdict(settings), clock=False)
            await service.plugin_add(plugin, name="harvest-capture-preload")
            return
        if any(Path(settings.directory).glob("scheduler-*.cap")):
            logger.warning(
                "%s holds the capture of an earlier scheduler: both will be one capture",
                settings.directory,
            )
        capture = SchedulerCapture(settings)
        await capture.start(service)
        service.add_plugin(capture, name=capture.name)
    except CaptureError as error:
        logger.error("this cluster runs uncaptured: %s", error)
