"""Samples of a process's resource use, taken on its event loop once per interval."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import psutil
from tornado.ioloop import PeriodicCallback

from ..write.recorder import Recorder

COLUMNS: Final = (
    *("time", "cpu_percent", "memory_bytes", "managed_bytes", "spilled_bytes"),
    *("read_bytes_disk", "write_bytes_disk", "net_read_bytes", "net_write_bytes"),
    *("fds", "executing", "ready", "event_loop_s"),
    *("spills", "spill_bytes", "unspills", "unspill_bytes"),
)
State = Callable[[], Mapping[str, Any]]


class Sampler(PeriodicCallback):
    """A callback that adds a row per interval, from ``start`` (on the event loop) to ``stop``.

    ``state`` returns Dask's own values. Bytes are totals: for disks, those of this process since
    it began; for the network, those of the whole machine. ``event_loop_s`` is the delay of the
    event loop at the sample.
    """

    def __init__(self, recorder: Recorder, interval_s: float, state: State) -> None:
        super().__init__(self._sample, interval_s * 1000)
        self._stream = recorder.stream("sample", COLUMNS)
        self._state = state
        self._interval_s = interval_s
        self._process = psutil.Process()
        self._process.cpu_percent()  # the first call only sets the reference for the next
        self._last = time.monotonic()

    def _sample(self) -> None:
        now = time.monotonic()
        late, self._last = max(0.0, now - self._last - self._interval_s), now
        row = {"time": time.time(), "event_loop_s": late, **self._usage(), **self._state()}
        self._stream.append(tuple(map(row.get, COLUMNS)))

    def _usage(self) -> Mapping[str, Any]:
        process = self._process
        with process.oneshot():
            found: dict[str, Any] = {
                "cpu_percent": process.cpu_percent(),
                "memory_bytes": process.memory_info().rss,
                "fds": process.num_fds(),
            }
            if hasattr(process, "io_counters"):  # not on macOS
                disk = process.io_counters()
                found |= {"read_bytes_disk": disk.read_bytes, "write_bytes_disk": disk.write_bytes}
        net = psutil.net_io_counters()
        if net is not None:
            found |= {"net_read_bytes": net.bytes_recv, "net_write_bytes": net.bytes_sent}
        return found
