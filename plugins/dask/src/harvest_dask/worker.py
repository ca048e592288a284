"""Capture of a worker: transitions, executions, transfers, logs, samples and a profile.

Dask keeps the last transfers and stimuli of a worker in bounded deques. The capture replaces them
with deques that forward each new entry, so that none is missed when they overflow.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from distributed import worker_state_machine
from tornado.ioloop import PeriodicCallback

from .content import logs, samples
from .content.process import REPEAT_S, first_frames, measure, start
from .settings import TOPIC, Settings
from .write.directory import file_name, process_id
from .write.queues import Columns, Payload, spell
from .write.recorder import Recorder, report_of
from .write.remote import target_of

TRANSITION_COLUMNS: Final = ("time", "key", "start_state", "finish_state", "stimulus_id")
EXECUTION_COLUMNS: Final = ("key", "thread", "begins", "ends", "status")

_ENDS: Final[Mapping[type, str]] = {
    worker_state_machine.ExecuteSuccessEvent: "finished",
    worker_state_machine.ExecuteFailureEvent: "error",
    worker_state_machine.RescheduleEvent: "rescheduled",
}
_SPILLS: Final[Mapping[str, tuple[str, str]]] = {
    "spills": ("disk-write", "count"),
    "spill_bytes": ("disk-write", "bytes"),
    "unspills": ("disk-read", "count"),
    "unspill_bytes": ("disk-read", "bytes"),
}
"""Metric of Dask's spill buffer for each column of a sample."""
_captured: WeakKeyDictionary[Any, dict[str | None, WorkerCapture]] = WeakKeyDictionary()
"""Captures of each worker of this process: preloads may request one twice."""

logger = logging.getLogger("harvest_dask")


class TappedLog(deque[Any]):
    """A deque that forwards each appended entry to its taps."""

    def __init__(self, entries: deque[Any]) -> None:
        super().__init__(entries, entries.maxlen)
        self.taps: list[Callable[[Any], None]] = []

    def append(self, entry: Any) -> None:
        """Append an entry and forward it."""
        super().append(entry)
        for tap in self.taps:
            tap(entry)


class WorkerCapture:
    """Records the events of a worker."""

    def __init__(self, worker: Any, settings: Settings, process: str) -> None:
        self._worker = worker
        self._settings = settings
        self._process = process
        self._stimulus_id: str | None = None
        self._shifts: dict[Any, float] = {}
        self._profile: Profile | None = None
        self._known: list[Payload] = []
        target = partial(target_of, worker, settings, file_name("worker", process))
        self._recorder = recorder = Recorder(
            target, settings, lambda: first_frames(*self._known), self._report
        )
        self._transitions = recorder.stream("worker_transition", TRANSITION_COLUMNS)
        self._executions = recorder.stream("execution", EXECUTION_COLUMNS)
        self._transfers = recorder.stream("transfer", shape=_transfer_columns)
        self._logs = logs.LogTap(recorder, "worker", settings.capture, worker.address)
        self._sampler = samples.Sampler(recorder, settings.interval, self._state)
        self._clock = PeriodicCallback(self._measure_again, REPEAT_S * 1000)
        self._taps: list[tuple[Any, str, Callable[[Any], None]]] = [
            (worker.state, "stimulus_log", self._take_stimulus),
            (worker, "transfer_incoming_log", partial(self._take_transfer, "incoming")),
            (worker, "transfer_outgoing_log", partial(self._take_transfer, "outgoing")),
        ]

    @classmethod
    async def begin(
        cls, worker: Any, values: dict[str, Any], *, clock: bool
    ) -> WorkerCapture | None:
        """Begin to record a worker; return None if this capture already records it."""
        settings = Settings(**values)
        captures = _captured.setdefault(worker, {})
        if settings.capture in captures:
            if clock:
                await captures[settings.capture]._start_clock()
            return None
        made = captures[settings.capture] = cls(worker, settings, process_id())
        await made._start(clock)
        return made

    async def end(self) -> None:
        """Write the waiting frames and end the capture."""
        for owner, name, tap in self._taps:
            log = getattr(owner, name)
            log.taps.remove(tap)
            if not log.taps:
                setattr(owner, name, deque(log, log.maxlen))
        if self._profile is not None:
            self._profile.save()
        self._sampler.stop()
        self._clock.stop()
        self._logs.detach()
        closing = self._worker.status.name.startswith("clos")
        await self._recorder.aclose("the worker closes" if closing else "the capture ends")
        del _captured[self._worker][self._settings.capture]

    def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
        """Record a transition."""
        if finish == "executing":
            self._shifts.setdefault(key, self._worker.scheduler_delay)
        self._transitions.append((time.time(), key, start, finish, self._stimulus_id))

    async def _start(self, clock: bool) -> None:
        for owner, name, tap in self._taps:
            log = getattr(owner, name)
            if not isinstance(log, TappedLog):
                log = TappedLog(log)
                setattr(owner, name, log)
            log.taps.append(tap)
        self._logs.attach()
        worker = self._worker
        offset = await measure(worker.scheduler.harvest_capture_time) if clock else None
        self._known = [
            start(
                self._settings,
                role="worker",
                process=self._process,
                clock_offset_s=offset[0] if offset is not None else None,
                address=worker.address,
                name=str(worker.name),
                scheduler=worker.scheduler.address,
                nthreads=worker.state.nthreads,
                memory_limit=worker.memory_manager.memory_limit,
                resources=dict(worker.state.total_resources),
                local_directory=worker.local_directory,
            )
        ]
        self._recorder.start()
        self._sampler.start()
        if self._settings.yappi is not None:
            place = Path(self._settings.directory, f"yappi-{self._process}")
            self._profile = Profile(self._settings.yappi, place)
        if clock:
            self._clock.start()

    def _report(self, spell: Payload) -> None:
        self._worker.log_event(TOPIC, report_of(spell, self._settings, self._process))

    async def _measure_again(self) -> None:
        try:
            offset_s, trip_s = await measure(self._worker.scheduler.harvest_capture_time)
        except OSError:
            return  # the scheduler is away: Dask ends this worker, or the scheduler returns
        found = {"kind": "clock", "time": time.time(), "offset_s": offset_s, "round_trip_s": trip_s}
        self._recorder.put([found], rows=1)

    async def _start_clock(self) -> None:
        """Begin to measure the clock: when a preload starts, the scheduler cannot answer yet."""
        if not self._clock.is_running():
            self._clock.start()
            await self._measure_again()

    def _state(self) -> dict[str, Any]:
        worker = self._worker
        spilled = getattr(worker.data, "spilled_total", None)  # absent if the worker cannot spill
        metrics = getattr(worker.data, "cumulative_metrics", {})
        return {
            **{name: int(metrics.get(metric, 0)) for name, metric in _SPILLS.items()},
            "managed_bytes": worker.state.nbytes,
            "spilled_bytes": spilled.disk if spilled is not None else 0,
            "executing": worker.state.executing_count,
            "ready": len(worker.state.ready),
        }

    def _take_stimulus(self, event: Any) -> None:
        """Keep the stimulus of the following transitions; record an execution that ended."""
        self._stimulus_id = event.stimulus_id
        status = _ENDS.get(type(event))
        if status is not None:
            # Dask shifts both times to the scheduler's clock by its delay as the task began, which
            # heartbeats change meanwhile, by seconds on a busy worker; other times are not shifted
            shift = self._shifts.pop(event.key, self._worker.scheduler_delay)
            begins, ends = (
                None if moment is None else moment - shift
                for moment in (getattr(event, "start", None), getattr(event, "stop", None))
            )
            thread = self._worker.state.threads.get(event.key)
            self._executions.append((event.key, thread, begins, ends, status))

    def _take_transfer(self, direction: str, entry: Mapping[str, Any]) -> None:
        # Dask shifts the times of its entries to the scheduler's clock, except an outgoing "middle"
        shift = self._worker.scheduler_delay
        middle = entry["middle"] - (shift if direction == "incoming" else 0)
        self._transfers.append((direction, time.time(), entry, shift, middle))


def _transfer_columns(rows: Sequence[tuple[Any, ...]]) -> Columns:
    directions, times, entries, shifts, middles = zip(*rows, strict=True)
    both = list(zip(entries, shifts, strict=True))
    return {
        "time": times,
        "start_time": [entry["start"] - shift for entry, shift in both],
        "end_time": [entry["stop"] - shift for entry, shift in both],
        "middle": middles,
        "duration_s": [entry["duration"] for entry in entries],
        "total_bytes": [entry["total"] for entry in entries],
        "compressed_bytes": [entry.get("compressed") for entry in entries],
        "bandwidth": [entry["bandwidth"] for entry in entries],
        "direction": directions,
        "peer": [entry["who"] for entry in entries],
        "keys": [[[spell(k), n] for k, n in entry["keys"].items()] for entry in entries],
    }


class Profile:
    """A Yappi profile of this process from now on, saved next to the capture's files.

    Yappi supports one profile per process. The statistics stay in memory until the capture ends: a
    killed worker leaves no profile.

    clock: ``cpu`` or ``wall``. path: path of the files without their suffixes, ``.pstat`` for
    functions and ``.threads.txt`` for threads.
    """

    def __init__(self, clock: str, path: Path) -> None:
        self._path = path
        self._yappi: Any = None
        try:
            import yappi  # the extra `yappi`
        except ImportError:
            logger.warning(
                "this process is not profiled: install hpc-harvest-dask[yappi] where it runs"
            )
            return
        if yappi.is_running():
            logger.warning("this process is already profiled: the capture adds no profile")
            return
        yappi.set_clock_type(clock)
        yappi.start()
        self._yappi = yappi

    def save(self) -> None:
        """Stop the profile and write both files; each file is complete or absent."""
        yappi, self._yappi = self._yappi, None
        if yappi is None:
            return
        yappi.stop()
        draft = self._path.with_suffix(".part")
        try:
            yappi.get_func_stats().save(str(draft), type="pstat")
            draft.replace(self._path.with_suffix(".pstat"))
            with draft.open("w", encoding="utf-8") as file:
                yappi.get_thread_stats().print_all(out=file)
            draft.replace(self._path.with_suffix(".threads.txt"))
        except OSError as error:
            logger.warning("the profile of this process cannot be saved: %s", error)
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        finally:
            yappi.clear_stats()
