"""Decode the AutoPerf modules: APMPI (MPI calls) and APXC (Cray XC routers).

A region is one header, which the first process wrote, and records of a fixed size with hundreds of
counters. The counters become maps from name to value.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Record

from .. import records
from ..counters import words
from .container import DamagedError, text_of
from .fixed import matrix
from .tables import Decoder, Log, batch

_DATA: Final = words(
    "SEND SSEND RSEND BSEND RECV SENDRECV SENDRECV_REPLACE ISEND ISSEND IRSEND IBSEND IRECV",
)
_CALLS: Final = words(
    "PROBE IPROBE TEST TESTANY TESTALL TESTSOME WAIT WAITANY WAITALL WAITSOME BARRIER IBARRIER",
)
_COLLECTIVE: Final = words(
    "BCAST GATHER GATHERV SCATTER SCATTERV SCAN EXSCAN ALLGATHER ALLGATHERV REDUCE ALLREDUCE",
    "REDUCE_SCATTER ALLTOALL ALLTOALLV ALLTOALLW",
)
_ONE_SIDED: Final = words("PUT GET ACCUMULATE GET_ACCUMULATE")
_WINDOW: Final = words(
    "FETCH_AND_OP COMPARE_AND_SWAP WIN_FENCE WIN_START WIN_COMPLETE WIN_POST WIN_WAIT WIN_TEST",
    "WIN_LOCK WIN_UNLOCK WIN_UNLOCK_ALL WIN_FLUSH WIN_FLUSH_ALL WIN_FLUSH_LOCAL",
    "WIN_FLUSH_LOCAL_ALL WIN_SYNC",
)
_OPERATIONS: Final = [
    *_DATA,
    *_CALLS,
    *_COLLECTIVE,
    *(f"I{name}" for name in _COLLECTIVE),
    *_ONE_SIDED,
    *_WINDOW,
]
_MESSAGES: Final = words("0_256 256_1K 1K_8K 8K_256K 256K_1M 1M_PLUS")


def _apmpi_counters() -> list[str]:
    names = []
    for operation in _OPERATIONS:
        kinds = ["CALL_COUNT"]
        if operation not in _CALLS and operation not in _WINDOW:
            kinds += ["TOTAL_BYTES", *(f"MSG_SIZE_AGG_{size}" for size in _MESSAGES)]
        names += [f"MPI_{operation}_{kind}" for kind in kinds]
    return names


APMPI_COUNTERS: Final = _apmpi_counters()
APMPI_TIMERS: Final = [
    *(f"MPI_{op}_{kind}_TIME" for op in _OPERATIONS for kind in ("TOTAL", "MIN", "MAX")),
    *(f"MPI_{op}_TOTAL_SYNC_TIME" for op in ("BARRIER", *_COLLECTIVE)),
    "MPI_TOTAL_COMM_TIME",
    "MPI_TOTAL_COMM_SYNC_TIME",
]
_LANES: Final = [f"INCOMING_FLIT_VC{lane}" for lane in range(8)]
APXC_COUNTERS: Final = [
    *(
        f"APXC_AR_RTR_{i}_{j}_INQ_PRF_{kind}"
        for i in range(5)
        for j in range(8)
        for kind in (*_LANES, "ROWBUS_STALL_CNT")
    ),
    *(
        f"APXC_AR_RTR_PT_5_{j}_INQ_PRF_{kind}"
        for j in range(8)
        for kind in (_LANES[0], _LANES[4], "REQ_ROWBUS_STALL_CNT", "RSP_ROWBUS_STALL_CNT")
    ),
]


class _AutoPerf(Decoder):
    """Decoder of a header and records of ``words`` 8-byte words."""

    words: int
    head_format: str

    def _check(self) -> int:
        self._head = struct.Struct(self.order + self.head_format)
        rows, rest = divmod(self.region.size - self._head.size, 8 * self.words)
        if rows < 0 or rest:
            raise DamagedError(
                f"its {self.region.size} bytes are not a header of {self._head.size} bytes and "
                f"records of {8 * self.words}"
            )
        # the header has no row: its values are in each row
        self.merged = 1
        return rows

    def _matrices(self) -> Iterator[tuple[NDArray[np.uint64], memoryview]]:
        stream = self.region.stream()
        stream.skip(self._head.size)
        while len(data := stream.take(8 * self.words * 512)):
            yield matrix(data, self.words, self.order), data

    def _header(self) -> tuple[Any, ...]:
        return self._head.unpack(self.region.stream().take(self._head.size))


class ApmpiRecords(_AutoPerf):
    """Decoder of MPI calls, one record per process."""

    head_format = "QqqI4xdd"
    words = 2 + len(APMPI_COUNTERS) + len(APMPI_TIMERS) + 16
    _first_timer: Final = 2 + len(APMPI_COUNTERS)

    def _check(self) -> int:
        rows = super()._check()
        for values, data in self._matrices():
            self.hosts |= zip(values[1].view(np.int64).tolist(), self._names(data), strict=True)
        return rows

    def _names(self, data: memoryview) -> list[str]:
        """Return the host of each record, from its last 128 bytes."""
        size = 8 * self.words
        ends = range(size, len(data) + 1, size)
        return [text_of(bytes(data[end - 128 : end])) for end in ends]

    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        _, _, _, sync, time_variance, sync_variance = self._header()
        for values, data in self._matrices():
            rows = values.shape[1]
            columns = log.base(values[0], values[1].view(np.int64))
            timers = values[self._first_timer : -16].view(np.float64)
            columns |= {
                "hostname": pa.array([n or None for n in self._names(data)], pa.string()),
                "counters": _maps(APMPI_COUNTERS, values[2 : self._first_timer]),
                "timers": _maps(APMPI_TIMERS, timers),
                "sync_flag": pa.array(np.full(rows, sync, np.int64)),
                "MPI_TOTAL_COMM_TIME_VARIANCE": pa.array(np.full(rows, time_variance)),
                "MPI_TOTAL_COMM_SYNC_TIME_VARIANCE": pa.array(np.full(rows, sync_variance)),
            }
            yield batch(records.Apmpi, columns, log)


class ApxcRecords(_AutoPerf):
    """Decoder of router counters, one record per router."""

    head_format = "Qq6qQ"
    words = 2 + 4 + len(APXC_COUNTERS)

    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        _, _, _, *numbers, appid = self._header()
        names = ("nblades", "nchassis", "ngroups", "memory_mode", "cluster_mode")
        for values, _ in self._matrices():
            rows = values.shape[1]
            columns = log.base(values[0], values[1].view(np.int64))
            for row, name in enumerate(("group", "chassis", "blade", "node"), start=2):
                columns[name] = pa.array(values[row].view(np.int64))
            for name, value in zip(names, numbers, strict=True):
                columns[name] = pa.array(np.full(rows, value, np.int64))
            columns["counters"] = _maps(APXC_COUNTERS, values[6:])
            columns["appid"] = pa.array(np.full(rows, appid, np.uint64))
            yield batch(records.Apxc, columns, log)


def _maps(names: list[str], values: NDArray[Any]) -> pa.Array:
    rows = values.shape[1]
    keys = pa.array(names, pa.string()).take(pa.array(np.tile(np.arange(len(names)), rows)))
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * len(names))
    return pa.MapArray.from_arrays(offsets, keys, pa.array(np.ascontiguousarray(values.T).ravel()))
