"""Decode modules whose records have a fixed size, by layouts per module and version.

A record is a row of 8-byte words. Its layout lists the column of each word; None is padding.
Counters that a version does not have are not in its list. Source:
``darshan-util/darshan-*-logutils.c``, which converts old records to new ones.
"""

import re
import uuid
from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Record, record_type

from .. import records
from ..counters import COUNTERS, COUNTS, TIMERS, TIMES
from .container import DamagedError, Module
from .regions import Region
from .tables import BATCH_ROWS, Decoder, Log, Rows, times

_PIECE = 8 << 20
PADDING: Final = None
_Words: TypeAlias = tuple[str | None, ...]


@attrs.frozen
class Layout:
    """The layout of a record of fixed size.

    words: the column of each 8-byte word; None is padding, or the second word of a UUID. A name
        with a ``+`` goes to ``extra``.
    """

    record: type[Record]
    words: _Words

    @property
    def size(self) -> int:
        """Size of a record in bytes."""
        return 8 * len(self.words)


def _layout(
    module: str, *, without: Collection[str] = (), before: _Words = (), after: _Words = ()
) -> Layout:
    """Build a layout from the newest one, without the counters that an older version lacks.

    before: words between the rank and the counters. after: words after the timers.
    """
    names = [n for n in COUNTERS[module] + TIMERS.get(module, ()) if n not in without]
    return Layout(records.OF_MODULE[module], ("record_id", "rank", *before, *names, *after))


def _ends(prefix: str) -> set[str]:
    """Name the two timestamps that the first versions of all modules lack."""
    return {f"{prefix}_F_CLOSE_START_TIMESTAMP", f"{prefix}_F_OPEN_END_TIMESTAMP"}


def _versions(*layouts: Layout) -> dict[int, Layout]:
    return dict(enumerate(layouts, start=1))


_POSIX_4: Final = {
    f"POSIX_{n}" for n in ("FILENOS", "DUPS", "RENAME_SOURCES", "RENAME_TARGETS", "RENAMED_FROM")
}
_POSIX_2 = _layout("POSIX", without=_POSIX_4 | _ends("POSIX"))
# Version 1 has four counters of buffered I/O without a column; they go to ``extra``.
_FOPEN: Final = ("+POSIX_FOPENS", "+POSIX_FREADS", "+POSIX_FWRITES", "+POSIX_FSEEKS")
_at = _POSIX_2.words.index("POSIX_MMAPS") + 1
_POSIX_1 = Layout(records.Posix, (*_POSIX_2.words[:_at], *_FOPEN, *_POSIX_2.words[_at:]))

_MPIIO_1 = _layout("MPI-IO", without=_ends("MPIIO"))
_H5F_3: Final = {"H5F_FLUSHES", "H5F_USE_MPIIO", "H5F_F_META_TIME"}
_PNETCDF: Final = ("record_id", "rank", "PNETCDF_INDEP_OPENS", "PNETCDF_COLL_OPENS")
_PNETCDF_ENDS: Final = tuple(
    name for name in TIMERS["PNETCDF_FILE"] if re.search(r"_(OPEN|CLOSE)_", name)
)
_UUIDS: Final = ("pool_uuid", PADDING, "cont_uuid", PADDING)

FIXED: Final[dict[str, dict[int, Layout]]] = {
    "POSIX": _versions(_POSIX_1, _POSIX_2, _layout("POSIX", without=_POSIX_4), _layout("POSIX")),
    "STDIO": _versions(_layout("STDIO", without={"STDIO_FDOPENS"}), _layout("STDIO")),
    "MPI-IO": _versions(_MPIIO_1, _MPIIO_1, _layout("MPI-IO")),
    "H5F": _versions(
        _layout("H5F", without=_H5F_3 | _ends("H5F")),
        _layout("H5F", without=_H5F_3),
        _layout("H5F"),
    ),
    "H5D": _versions(_layout("H5D"), _layout("H5D", before=("H5D_FILE_REC_ID",))),
    "PNETCDF_FILE": _versions(
        Layout(records.PnetcdfFile, (*_PNETCDF, _PNETCDF_ENDS[0], _PNETCDF_ENDS[3])),
        Layout(records.PnetcdfFile, (*_PNETCDF, *_PNETCDF_ENDS)),
        _layout("PNETCDF_FILE"),
    ),
    "PNETCDF_VAR": _versions(_layout("PNETCDF_VAR", before=("PNETCDF_VAR_FILE_REC_ID",))),
    "BG/Q": _versions(_layout("BG/Q", before=(PADDING,)), _layout("BG/Q")),
    "DFS": _versions(_layout("DFS", after=_UUIDS)),
    "DAOS": _versions(_layout("DAOS", after=(*_UUIDS, "oid_hi", "oid_lo"))),
}
"""Layouts by module and version."""


def matrix(data: memoryview, words: int, order: str) -> NDArray[np.uint64]:
    """Convert records of ``words`` 8-byte words to a matrix of native numbers, a row per word."""
    rows = np.frombuffer(data, f"{order}u8")
    return np.ascontiguousarray(rows.reshape(-1, words).T.astype(np.uint64))


class FixedRecords(Decoder):
    """Decoder of a module whose layouts are in :data:`FIXED`."""

    def __init__(self, module: Module, region: Region, order: str):
        versions = FIXED[module.name]
        if module.version not in versions:
            raise DamagedError(
                f"unknown version {module.version} of its records; "
                f"known are {', '.join(map(str, versions))}"
            )
        self.known = tuple(versions)
        self.layout: Layout = versions[module.version]
        super().__init__(module, region, order)

    def _check(self) -> int:
        rows, rest = divmod(self.region.size, self.layout.size)
        if rest:
            raise DamagedError(
                f"its {self.region.size} bytes are not a whole number of records of "
                f"{self.layout.size} bytes (version {self.module.version})"
            )
        return rows

    def batches(self, log: Log) -> Iterator[Rows]:
        layout = self.layout
        stream = self.region.stream()
        size = layout.size * max(1, min(BATCH_ROWS, _PIECE // layout.size))
        while len(data := stream.take(size)):
            yield layout.record, pa.table(self._columns(data, log))

    def _columns(self, data: memoryview, log: Log) -> dict[str, pa.Array]:
        words = self.layout.words
        values = matrix(data, len(words), self.order)
        rows = values.shape[1]
        buffer = pa.py_buffer(values)
        columns = log.base(values[0], values[1].view(np.int64))
        schema = record_type(self.layout.record).arrow_schema
        extra = []
        for row, name in enumerate(words):
            if name is None or name in columns:
                continue
            if COUNTS.search(name):
                log.watch(name, values[row].view(np.int64))
            elif TIMES.search(name):
                log.watch(name, values[row].view(np.float64))
            if name.startswith("+"):
                extra.append((name[1:], values[row].view(np.int64)))
            elif name.endswith("_uuid"):
                raw = np.frombuffer(data, np.uint8).reshape(-1, 8 * len(words))
                ids = (uuid.UUID(bytes=one.tobytes()) for one in raw[:, 8 * row : 8 * row + 16])
                columns[name] = pa.array(map(str, ids), pa.string())
            else:
                # the column is a slice of the matrix, not a copy
                piece = buffer.slice(8 * rows * row, 8 * rows)
                columns[name] = pa.Array.from_buffers(schema.field(name).type, rows, [None, piece])
        if extra:
            columns["extra"] = _nonzero_maps(extra)
        if "first_time" in schema.names:
            columns |= self._times(values.view(np.float64), log.start_ns)
        return columns

    def _times(self, values: NDArray[np.float64], start_ns: int) -> dict[str, pa.Array]:
        words = [name or "" for name in self.layout.words]
        first = [i for i, name in enumerate(words) if name.endswith("_START_TIMESTAMP")]
        last = [i for i, name in enumerate(words) if name.endswith("_END_TIMESTAMP")]
        # Darshan writes 0 for "never"
        starts = np.where(values[first] > 0, values[first], np.inf).min(axis=0)
        ends = np.where(values[last] > 0, values[last], -np.inf).max(axis=0)
        return {"first_time": times(start_ns, starts), "last_time": times(start_ns, ends)}


def _nonzero_maps(columns: list[tuple[str, NDArray[np.int64]]]) -> pa.Array:
    """Build ``extra`` from counters without a column; null if all are zero."""
    names = [name for name, _ in columns]
    rows = zip(*(values.tolist() for _, values in columns), strict=True)
    return pa.array(
        [
            [(n, str(v)) for n, v in zip(names, row, strict=True)] if any(row) else None
            for row in rows
        ],
        pa.map_(pa.string(), pa.string()),
    )
