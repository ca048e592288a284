"""Capture of the scheduler: a plugin that records its events and installs itself on workers.

Hooks block the scheduler, so they only put their arguments into a queue.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.protocol.pickle import dumps

from .content import logs, samples
from .content.process import first_frames, start
from .content.scheduler_rows import graph_frames, transition_columns
from .settings import TOPIC, CaptureError, Settings
from .write.directory import file_name, find_capture, process_id
from .write.frames import FrameFile
from .write.queues import Payload, as_json
from .write.recorder import Recorder, blind
from .write.remote import Relay

ATTACHED: Final = "capture-start"
"""Stimulus of rows for the state at the start of the capture."""

ABSENT_S: Final = 30.0
"""Seconds that the client that owns a capture may be away before the capture ends."""

WORKER_COLUMNS: Final = (
    *("time", "worker", "action", "stimulus_id", "name", "host", "nthreads"),
    *("memory_limit", "resources", "reason"),
)
SNAPSHOT_COLUMNS: Final = ("time", "key", "state", "size_bytes", "workers")

logger = logging.getLogger("harvest_dask")


class SchedulerCapture(SchedulerPlugin):
    """Records transitions, graphs, workers, clients, events, spans, logs and samples."""

    idempotent = True
    # set by ``start``, at the scheduler
    _scheduler: Any
    _recorder: Recorder
    relay: Relay
    """Writes the frames of workers and clients, which end after the scheduler begins to close."""
    _logs: logs.LogTap
    _sampler: samples.Sampler

    def __init__(self, settings: Settings) -> None:
        self.name = settings.name
        self._settings = settings
        self._running = False
        self._expected: dict[str, bool] = {}
        self._spans_seen = 0
        self._graphs = 0
        self._code_seen: set[Any] = set()
        self._warned = False

    async def start(self, scheduler: Any) -> None:
        """Begin the capture; record the existing state with its own stimulus."""
        if self._running:
            return
        settings = self._settings
        if find_capture(settings.directory) != settings.capture:
            raise CaptureError(
                f"the scheduler at {scheduler.address} cannot see the capture's directory "
                f"{settings.directory}: use one that all machines share"
            )
        self._running = True
        self._scheduler = scheduler
        self.relay = Relay(settings.directory, settings.capture)
        self._recorder = self._make_recorder(scheduler)
        # for processes that measure their clock's offset; Dask asks a handler for its signature
        scheduler.handlers["harvest_capture_time"] = lambda: time.time()
        scheduler.handlers["harvest_capture_append"] = _appender(scheduler)
        self._logs.attach()
        self._sampler.start()
        self._recorder.start()
        shim = worker_plugin(asdict(settings), clock=True)
        plugin: bytes = dumps(shim)  # type: ignore[no-untyped-call]
        await scheduler.register_worker_plugin(None, plugin=plugin, name=self.name, idempotent=True)
        # no await from here on, until Dask has added this plugin
        self._record_present()

    def _make_recorder(self, scheduler: Any) -> Recorder:
        settings, process = self._settings, process_id()
        path = Path(settings.directory, file_name("scheduler", process))
        known = start(
            settings,
            role="scheduler",
            process=process,
            clock_offset_s=0.0,
            address=scheduler.address,
            name=scheduler.id,
            scheduler=scheduler.address,
        )
        recorder = Recorder(
            lambda first: FrameFile(path, settings.capture, first),
            settings,
            partial(first_frames, known),
        )
        self._transitions = recorder.stream("scheduler_transition", shape=transition_columns)
        self._workers = recorder.stream("worker_event", WORKER_COLUMNS)
        self._clients = recorder.stream("client_event", ("time", "client", "action"))
        self._events = recorder.stream("event", ("time", "topic", "message"))
        self._spans = recorder.stream("span", ("id", "name", "tags", "annotations", "start"))
        self._snapshot = recorder.stream("snapshot", SNAPSHOT_COLUMNS)
        self._logs = logs.LogTap(recorder, "scheduler", settings.capture, None)
        self._sampler = samples.Sampler(recorder, settings.interval, self._state)
        return recorder

    def _state(self) -> dict[str, Any]:
        scheduler = self._scheduler
        workers = scheduler.workers.values()
        return {
            "executing": sum(len(ws.processing) for ws in workers),
            "ready": len(scheduler.queued) + len(scheduler.unrunnable),
            "managed_bytes": sum(ws.nbytes for ws in workers),
        }

    def _record_present(self) -> None:
        """Record workers, clients, spans and tasks that existed before the capture."""
        scheduler, now = self._scheduler, time.time()
        for address in scheduler.workers:
            self.add_worker(scheduler, address, ATTACHED)
        for client in scheduler.clients:
            self.add_client(scheduler, client)
        self._record_spans()
        for _, message in scheduler.get_events(TOPIC):  # sent before this plugin was installed
            if message.get("capture") == self._settings.capture:
                self._take_report(message)
        if not scheduler.tasks:
            return
        for ts in scheduler.tasks.values():
            held = [ws.address for ws in ts.who_has or ()]
            running = [ts.processing_on.address] if ts.processing_on else []
            size = ts.nbytes if ts.nbytes is not None and ts.nbytes >= 0 else None
            self._snapshot.append((now, ts.key, ts.state, size, held or running))
        self._record_graph(None, ATTACHED, (), list(scheduler.tasks), {}, ())

    def transition(
        self, key: Any, start: str, finish: str, *args: Any, stimulus_id: str, **kwargs: Any
    ) -> None:
        """Record a transition."""
        if finish == "erred" and "cause" not in kwargs:  # it erred since another did
            blamed = self._scheduler.tasks[key].exception_blame
            kwargs["cause"] = blamed.key if blamed is not None else None
        self._transitions.append((time.time(), key, start, finish, stimulus_id, kwargs))

    def update_graph(
        self,
        scheduler: Any,
        *,
        client: str,
        keys: Any,
        tasks: Any,
        annotations: Any,
        stimulus_id: str | None = None,  # older versions of Dask give none
        **kwargs: Any,
    ) -> None:
        """Record a graph, and its source code if that is new."""
        code = scheduler.computations[-1].code if scheduler.computations else ()
        new = [part for block in code if block not in self._code_seen for part in block]
        self._code_seen.update(code)
        self._record_graph(client, stimulus_id, keys, tasks, annotations, [p.code for p in new])
        self._record_spans()

    def _record_graph(
        self,
        client: str | None,
        stimulus_id: str | None,
        keys: Any,
        tasks: Any,
        notes: Any,
        code: Any,
    ) -> None:
        """Copy a graph's current state: its tasks will have changed when it is written.

        Data that a client scattered are no tasks, though Dask lists them if a task needs them.
        """
        known = ((key, self._scheduler.tasks[key]) for key in tasks)
        taken = [
            (key, [d.key for d in ts.dependencies]) for key, ts in known if ts.run_spec is not None
        ]
        self._graphs += 1
        head: Payload = {"graph": self._graphs, "time": time.time()}
        head |= {"client": client, "stimulus_id": stimulus_id}
        annotations = {name: dict(values) for name, values in notes.items()}
        make = partial(graph_frames, head, list(keys), taken, annotations, code)
        self._recorder.put(make, rows=len(taken) + 1)

    def _record_spans(self) -> None:
        extension = self._scheduler.extensions.get("spans")
        spans = extension.spans if extension is not None else {}
        for span in islice(spans.values(), self._spans_seen, None):
            notes = as_json(span.annotation) if span.annotation else None
            self._spans.append((span.id, span.name[-1], list(span.name), notes, span.enqueued))
        self._spans_seen = len(spans)

    def add_worker(self, scheduler: Any, worker: str, stimulus_id: str | None = None) -> None:
        """Record a worker that joined."""
        ws = scheduler.workers[worker]
        resources = as_json(ws.resources) if ws.resources else None
        facts = (str(ws.name), ws.host, ws.nthreads, ws.memory_limit, resources, None)
        self._workers.append((time.time(), worker, "add", stimulus_id, *facts))

    def remove_worker(
        self, scheduler: Any, worker: str, *, stimulus_id: str = "", **kwargs: Any
    ) -> None:
        """Record a worker that left, and whether that was requested."""
        expected = self._expected.pop(worker, None)
        reason = None if expected is None else "expected" if expected else "lost"
        facts = (None, None, None, None, None, reason)
        self._workers.append((time.time(), worker, "remove", stimulus_id, *facts))

    def add_client(self, scheduler: Any, client: str) -> None:
        """Record a client that connected."""
        self._clients.append((time.time(), client, "add"))

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Record a client that left; the capture ends if its owner stays away."""
        self._clients.append((time.time(), client, "remove"))
        if client == self._settings.owner:
            scheduler.loop.call_later(ABSENT_S, self._end_if_abandoned)

    async def _end_if_abandoned(self) -> None:
        if self._running and self._settings.owner not in self._scheduler.clients:
            reason = f"the client that captured, {self._settings.owner}, is gone"
            logger.warning("the capture ends: %s", reason)
            await stop_capture(self.name, reason, self._scheduler)

    def restart(self, scheduler: Any) -> None:
        """Record that the cluster was restarted."""
        self._events.append((time.time(), "restart", "{}"))

    def log_event(self, topic: str, msg: Any) -> None:
        """Record an event of Dask or of the user; those of captured processes become frames."""
        if topic == TOPIC and isinstance(msg, dict):
            if msg.get("capture") == self._settings.capture:
                self._take_report(msg)
            return
        if isinstance(msg, dict) and msg.get("action") == "remove-worker":
            worker = msg.get("worker", topic)
            if msg.get("expected") is not None:
                self._expected[worker] = bool(msg["expected"])
        self._events.append((time.time(), topic, as_json(msg)))

    def _take_report(self, report: dict[str, Any]) -> None:
        """Record the report of a worker or client that it records nothing, and why."""
        known = {k: v for k, v in report.items() if k != "capture"}
        spell = blind(report["since"], report["reason"], report["lost"])
        self._recorder.put([spell | known], rows=1)
        if not self._warned:
            self._warned = True
            logger.warning(
                "%s records nothing: %s; the computation goes on (later ones are in the "
                "scheduler's file)",
                report["process"],
                report["reason"],
            )

    async def close(self, reason: str = "the scheduler closes") -> None:
        """End the capture."""
        if not self._running:
            return
        self._running = False
        self._record_spans()
        self._sampler.stop()
        self._logs.detach()
        await self._recorder.aclose(reason)


async def stop_capture(name: str, reason: str, dask_scheduler: Any = None) -> bool:
    """End a capture, first on its workers; return False if the scheduler knows no such capture."""
    plugin = dask_scheduler.plugins.get(name)
    if plugin is None:
        return False
    if name in dask_scheduler.worker_plugins:
        await dask_scheduler.unregister_worker_plugin(None, name=name)
    dask_scheduler.remove_plugin(name=name)
    await plugin.close(reason)
    plugin.relay.close()
    return True


def _appender(scheduler: Any) -> Callable[..., Any]:
    """Return the handler for frames from Dask's connections; it writes in a thread."""

    async def append(capture: str, **message: Any) -> str | None:
        for plugin in scheduler.plugins.values():
            if isinstance(plugin, SchedulerCapture) and plugin.name.endswith(capture):
                return await asyncio.to_thread(plugin.relay.append, **message)
        return "the capture has ended"

    return append


def worker_plugin(settings: dict[str, Any], *, clock: bool) -> WorkerPlugin:
    """Create the plugin for all workers; clock: whether the scheduler can report its time.

    Dask sends a class by name if possible, and a worker that cannot import it would not start. A
    class that a function creates cannot be imported by name, so Dask sends its code.
    """
    topic = TOPIC

    class HarvestCapture(WorkerPlugin):
        """Captures a worker, if hpc-harvest-dask is installed there."""

        capture: Any = None

        async def setup(self, worker: Any) -> None:
            try:
                from harvest_dask.worker import WorkerCapture
            except ImportError as error:
                reason = f"{error}: install hpc-harvest-dask where the workers run"
                spell = {"since": time.time(), "reason": reason, "lost": None}
                who = {"capture": settings["capture"], "process": worker.address}
                worker.log_event(topic, spell | who)
                return
            self.capture = await WorkerCapture.begin(worker, settings, clock=clock)
            if self.capture is not None:
                self.transition = self.capture.transition  # type: ignore[method-assign]

        async def teardown(self, worker: Any) -> None:
            if self.capture is not None:
                await self.capture.end()

    return HarvestCapture()
