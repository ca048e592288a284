"""Decode the AutoPerf modules: APMPI (MPI calls) and APXC (Cray XC routers).

A region is one header, which the first process wrote, and records of a fixed size with hundreds of
counters. The counters become maps from name to value.
"""

import abc
import struct
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Record, record_type

from .. import records
from ..counters import words
from .container import DamagedError, text_of
from .fixed import matrix
from .tables import Decoder, Log, Rows

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
_NONBLOCKING: Final = tuple(f"I{name}" for name in _COLLECTIVE)
_OPERATIONS: Final = _DATA + _CALLS + _COLLECTIVE + _NONBLOCKING + _ONE_SIDED + _WINDOW
_SIZES: Final = words("0_256 256_1K 1K_8K 8K_256K 256K_1M 1M_PLUS")
_OF_MESSAGES: Final = ("TOTAL_BYTES", *(f"MSG_SIZE_AGG_{size}" for size in _SIZES))

APMPI_COUNTERS: Final = [
    f"MPI_{operation}_{kind}"
    for operation in _OPERATIONS
    for kind in ("CALL_COUNT", *(() if operation in _CALLS + _WINDOW else _OF_MESSAGES))
]
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
    """Decoder of a header and records of ``words`` 8-byte words.

    head_format, head: the numbers of the header, which are columns of all rows.
    """

    record: ClassVar[type[Record]]
    words: ClassVar[int]
    head_format: ClassVar[str]
    head: ClassVar[tuple[str, ...]]

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

    def batches(self, log: Log) -> Iterator[Rows]:
        schema = record_type(self.record).arrow_schema
        head = self._head.unpack(self.region.stream().take(self._head.size))
        for values, data in self._matrices():
            columns = log.base(values[0], values[1].view(np.int64)) | self._columns(values, data)
            for name, value in zip(self.head, head, strict=True):
                one = pa.scalar(value, schema.field(name).type)
                columns[name] = pa.repeat(one, values.shape[1])
            yield self.record, pa.table(columns)

    @abc.abstractmethod
    def _columns(self, values: NDArray[np.uint64], data: memoryview) -> dict[str, pa.Array]:
        """Return the columns of some records that neither the header nor all modules have."""


class ApmpiRecords(_AutoPerf):
    """Decoder of MPI calls, one record per process."""

    record = records.Apmpi
    words = 2 + len(APMPI_COUNTERS) + len(APMPI_TIMERS) + 16
    head_format = "24xI4xdd"
    head = ("sync_flag", "MPI_TOTAL_COMM_TIME_VARIANCE", "MPI_TOTAL_COMM_SYNC_TIME_VARIANCE")
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

    def _columns(self, values: NDArray[np.uint64], data: memoryview) -> dict[str, pa.Array]:
        timers = values[self._first_timer : -16].view(np.float64)
        return {
            "hostname": pa.array([name or None for name in self._names(data)], pa.string()),
            "counters": _maps(APMPI_COUNTERS, values[2 : self._first_timer]),
            "timers": _maps(APMPI_TIMERS, timers),
        }


class ApxcRecords(_AutoPerf):
    """Decoder of router counters, one record per router."""

    record = records.Apxc
    words = 2 + 4 + len(APXC_COUNTERS)
    head_format = "24x5qQ"
    head = ("nblades", "nchassis", "ngroups", "memory_mode", "cluster_mode", "appid")

    def _columns(self, values: NDArray[np.uint64], data: memoryview) -> dict[str, pa.Array]:
        places = zip(("group", "chassis", "blade", "node"), values[2:6].view(np.int64), strict=True)
        counters = _maps(APXC_COUNTERS, values[6:])
        return {"counters": counters, **{name: pa.array(place) for name, place in places}}


def _maps(names: list[str], values: NDArray[Any]) -> pa.Array:
    rows = values.shape[1]
    keys = pa.array(names, pa.string()).take(pa.array(np.tile(np.arange(len(names)), rows)))
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * len(names))
    return pa.MapArray.from_arrays(offsets, keys, pa.array(np.ascontiguousarray(values.T).ravel()))
