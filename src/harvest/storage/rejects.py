"""The Parquet file of rejects next to a partition's rows."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harvest.api.source import Reject
from harvest.toolkit.plain import DATA_BYTES, open_plain
from harvest.toolkit.texts import printable

_FLUSH_ROWS = 4_096


_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("record_type", pa.string()),
        ("origin", pa.string()),
        ("position", pa.int64()),
        ("raw", pa.binary()),  # may not be text
        ("reason", pa.string()),
    ]
)


class RejectWriter:
    """Writer that collects rejects into a Parquet file; without rejects it makes none."""

    def __init__(self, path: Path, source: str):
        self.path = path
        self.source = source
        self.count = 0
        self._waiting: list[Reject] = []
        self._waiting_bytes = 0
        self._open: list[Any] = []  # the writer, and the file that it writes to

    def add(self, reject: Reject) -> None:
        self.count += 1
        self._waiting.append(reject)
        self._waiting_bytes += len(reject.raw)
        if len(self._waiting) >= _FLUSH_ROWS or self._waiting_bytes > 8 << 20:
            self._flush()

    def _flush(self) -> None:
        if not self._open:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # opened here, since Arrow accepts only UTF-8 paths
            stream = self.path.open("wb")
            self._open.append(stream)
            self._open.insert(0, pq.ParquetWriter(stream, _SCHEMA, compression="zstd"))
        items, self._waiting, self._waiting_bytes = self._waiting, [], 0
        columns: dict[str, list[Any]] = {
            "source": [self.source] * len(items),
            "record_type": [r.record_type for r in items],
            "origin": [printable(r.origin) for r in items],
            "position": [r.position for r in items],
            "raw": [r.raw for r in items],
            "reason": [printable(r.reason) for r in items],
        }
        self._open[0].write_table(pa.table(columns, schema=_SCHEMA))

    def close(self) -> bool:
        """Finish the file; return whether there is one."""
        if self._waiting:
            self._flush()
        for each in self._open:
            each.close()
        return bool(self._open)

    def abort(self) -> None:
        for each in self._open:
            with contextlib.suppress(OSError):  # the file is discarded
                each.close()


def read_rejects(path: Path, most_bytes: int = DATA_BYTES) -> Iterator[dict[str, Any]]:
    """Yield all rejects of a file, in order; raise DatasetError as ``open_plain`` does."""
    # read only in this thread: if an Arrow thread releases a Python object while the interpreter
    # shuts down, the process aborts
    descriptor = open_plain(path, most_bytes)
    with open(descriptor, "rb") as stream, pq.ParquetFile(stream, pre_buffer=False) as file:  # noqa: PTH123
        for batch in file.iter_batches(use_threads=False):
            yield from batch.to_pylist()
