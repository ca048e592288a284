"""``capture``: record a cluster from the script or notebook that uses it."""

import logging
import os
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from .content import logs
from .content.process import Offset, first_frames, measure, script, start
from .scheduler import SchedulerCapture, stop_capture
from .settings import TOPIC, CaptureError, Settings, absolute
from .write.directory import create_capture, file_name, process_id
from .write.queues import Payload
from .write.recorder import Recorder, report_of
from .write.remote import target_of

logger = logging.getLogger("harvest_dask")


class capture:  # noqa: N801  a context manager that reads as a verb
    """Record a cluster into a directory while the block runs.

    Use ``with capture(client, "runs/R1"):``, or ``async with`` for a client that was created with
    ``asynchronous=True``. All machines must share the directory. If only the scheduler sees it,
    ``via="scheduler"`` sends everything to the scheduler over Dask's connections.

    interval: seconds between samples. flush: maximum seconds of rows that a killed process loses.
    yappi: ``cpu`` or ``wall``, the clock to profile the workers by.
    queue: maximum rows of each kind that a process keeps while it cannot write. script: whether
    this process runs the workflow, so that its script is recorded.
    """

    def __init__(
        self,
        client: Any,
        directory: str | os.PathLike[str],
        *,
        interval: float = 1.0,
        flush: float = 0.5,
        via: str | None = None,
        yappi: str | None = None,
        queue: int = 1_000_000,
        script: bool = True,
    ) -> None:
        self._client = client
        self._is_script = script
        self._asked = Settings(
            absolute(directory), interval, flush, via, yappi, queue, owner=str(client.id)
        )

    @property
    def directory(self) -> Path:
        """Directory of the capture."""
        return Path(self._asked.directory)

    def __enter__(self) -> Self:
        if self._client.asynchronous:
            raise CaptureError("the client is asynchronous: write `async with capture(...)`")
        self._client.sync(self._begin)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._client.sync(self._end, _reason(kind))

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self._end(_reason(kind))

    async def _begin(self) -> None:
        asked = self._asked
        if asked.via is None:
            made = create_capture(asked.directory)
        else:
            made = await _at_scheduler(self._client, create_capture, asked.directory)
        self._settings = replace(asked, capture=made)
        await _warn_of_missing(self._client)
        plugin = SchedulerCapture(self._settings)
        await _installed_there(self._client.register_plugin(plugin, name=plugin.name))
        await self._record_client()

    async def _record_client(self) -> None:
        client, settings = self._client, self._settings
        process = process_id()
        offset: Offset = await measure(client.scheduler.harvest_capture_time)
        known = start(
            settings,
            role="client",
            process=process,
            clock_offset_s=offset[0],
            address=client.id,
            name=client.id,
            scheduler=client.scheduler.address,
        )

        def report(spell: Payload) -> None:
            client.loop.add_callback(_log_event, client, report_of(spell, settings, process))

        target = partial(target_of, client, settings, file_name("client", process))
        first = partial(first_frames, known, *([script()] if self._is_script else []))
        self._recorder = Recorder(target, settings, first, report)
        self._logs = logs.LogTap(self._recorder, "client", settings.capture, None)
        self._logs.attach()
        self._recorder.start()

    async def _end(self, reason: str) -> None:
        self._logs.detach()
        await self._recorder.aclose(reason)
        try:
            known = await _at_scheduler(self._client, stop_capture, self._settings.name, reason)
        except OSError as error:
            known = False
            logger.warning("the scheduler does not answer: %s", error)
        if not known:
            logger.warning(
                "the capture in %s ended before the block did: its scheduler is gone",
                self._settings.directory,
            )


async def _log_event(client: Any, message: Payload) -> None:
    """Send an event to the scheduler, if it is connected."""
    if client.status == "running":
        await client.log_event(TOPIC, message)


def _reason(kind: type[BaseException] | None) -> str:
    return "the capture ends" if kind is None else f"{kind.__name__} in the captured block"


async def _at_scheduler(client: Any, function: Any, *words: Any) -> Any:
    """Run a function of this package in the scheduler's process."""
    if client.status != "running":
        raise OSError(f"the client's connection is {client.status}")
    return await _installed_there(client.run_on_scheduler(function, *words))


async def _installed_there(answer: Awaitable[Any]) -> Any:
    """Await the scheduler's answer; raises CaptureError if this package is missing there."""
    try:
        return await answer
    except ModuleNotFoundError as error:
        raise CaptureError(
            f"{error} in the scheduler's process: install hpc-harvest-dask there too"
        ) from error


async def _warn_of_missing(client: Any) -> None:
    """Warn once about workers that cannot record because the package is not installed there."""

    def is_installed() -> bool:  # has no name to be imported by, so its code travels
        from importlib.util import find_spec

        return find_spec("harvest_dask") is not None

    found = await client.run(is_installed, on_error="return")
    missing = sorted(worker for worker, installed in found.items() if installed is not True)
    if missing:
        text = "%d of %d workers record nothing: hpc-harvest-dask is not installed there: %s"
        named = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        logger.warning(text, len(missing), len(found), named)
