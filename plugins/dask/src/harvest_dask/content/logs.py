"""Conversion of Dask's log records to rows.

A process can hold a scheduler, workers and a client (``LocalCluster(processes=False)``); its
records belong to the first of them that captures, so that none is recorded twice.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

import dask.config

from ..write.recorder import Recorder

COLUMNS: Final = ("time", "level", "source", "logger", "message", "worker")
_ROLES: Final = ("scheduler", "worker", "client")


class LogTap(logging.Handler):
    """A log handler that records Dask's log while it is attached."""

    _attached: list[LogTap] = []  # noqa: RUF012  of the process
    _guard = threading.Lock()

    def __init__(self, recorder: Recorder, role: str, capture: str | None, worker: str | None):
        super().__init__()
        self._stream = recorder.stream("log", COLUMNS)
        self._role = role
        self._capture = capture
        self._worker = worker
        self._loggers = _loggers()

    def attach(self) -> None:
        """Begin to record."""
        with self._guard:
            self._attached.append(self)
        for logger in self._loggers:
            logger.addHandler(self)

    def detach(self) -> None:
        """Stop recording."""
        for logger in self._loggers:
            logger.removeHandler(self)
        with self._guard:
            self._attached.remove(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Record a log record of this process."""
        first = next((tap for tap in self._attached if tap._capture == self._capture), None)
        if first is not self:
            return
        message = record.getMessage()
        if record.exc_info:
            message = f"{message}\n{logging.Formatter().formatException(record.exc_info)}"
        source = next((r for r in _ROLES if f"distributed.{r}" in record.name), self._role)
        level = record.levelname.lower()
        self._stream.append((record.created, level, source, record.name, message, self._worker))


def _loggers() -> list[logging.Logger]:
    """Return Dask's loggers that do not propagate to another Dask logger."""
    names = {"distributed", "distributed.client", "distributed.gc", "harvest_dask"}
    configured = dask.config.get("logging", {})
    names |= {name for name in configured if str(name).startswith("distributed.")}
    loggers = [logging.getLogger(name) for name in sorted(names)]
    return [x for x in loggers if x.name in ("distributed", "harvest_dask") or not x.propagate]
