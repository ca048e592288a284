"""Frames sent over Dask's connections, for processes that do not see the directory.

The sender numbers its batches. If an answer is lost, the batch is sent again, and the scheduler
recognizes it by its number.
"""

import asyncio
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ..settings import Settings
from .frames import FrameFile
from .recorder import Target

ANSWER_S: Final = 10.0
"""Maximum seconds to wait for the scheduler; a batch without an answer is sent again."""

_NAME: Final = re.compile(r"(worker|client)-[A-Za-z0-9_.-]+\.cap\Z")


def target_of(node: Any, settings: Settings, name: str, first: Sequence[bytes]) -> Target:
    """Return the target of a worker or client: its own file, or one that the scheduler writes."""
    if settings.via is None:
        return FrameFile(Path(settings.directory, name), settings.capture, first)
    return _RemoteFile(node, name, settings.capture, first)


class _RemoteFile:
    """A file that the scheduler writes for this process; used by the recorder's thread."""

    def __init__(self, node: Any, name: str, capture: str | None, first: Sequence[bytes]) -> None:
        self._send = node.scheduler.harvest_capture_append
        self._loop: asyncio.AbstractEventLoop = node.loop.asyncio_loop
        self._fixed = {"capture": capture, "name": name}
        self._first = list(first)
        self._batch = 1

    def append(self, payloads: Sequence[bytes]) -> None:
        """Append frames through the scheduler; raises OSError if that fails."""
        message = self._fixed | {"batch": self._batch, "payloads": list(payloads)}
        if self._batch == 1:
            message["first"] = self._first
        if self._loop.is_closed():
            raise OSError("the event loop of this process has ended")
        answer = asyncio.run_coroutine_threadsafe(self._ask(message), self._loop)
        try:
            refused = answer.result(ANSWER_S)
        except TimeoutError:
            answer.cancel()
            raise
        if refused:
            raise OSError(f"the scheduler could not write it: {refused}")
        self._batch += 1

    def close(self) -> None:
        """Nothing to close: the file is the scheduler's."""

    async def _ask(self, message: dict[str, Any]) -> Any:
        try:
            return await self._send(**message)
        except RuntimeError as error:  # Dask's connections are closed
            raise OSError(str(error)) from error


class Relay:
    """The scheduler's side: writes the frames of other processes, one file for each."""

    def __init__(self, directory: str, capture: str | None) -> None:
        self._directory = Path(directory)
        self._capture = capture
        self._files: dict[str, tuple[FrameFile, int]] = {}
        self._writing = threading.Lock()

    def append(
        self, name: str, batch: int, payloads: Sequence[bytes], first: Sequence[bytes] = ()
    ) -> str | None:
        """Append a batch unless it was already written; return the reason if that fails."""
        if not _NAME.match(name):
            return f"{name!r} is not the name of a capture's file"
        with self._writing:
            fresh = FrameFile(self._directory / name, self._capture, first)
            file, done = self._files.setdefault(name, (fresh, 0))
            if batch <= done:
                return None
            try:
                file.append(payloads)
            except OSError as error:
                return str(error)
            self._files[name] = file, batch
        return None

    def close(self) -> None:
        """Close all files."""
        with self._writing:
            for file, _ in self._files.values():
                file.close()
