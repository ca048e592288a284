"""Facts in a capture file about the process that wrote it: one row of ``dask.process``."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest import ReadContext

from ..types import Process
from .batches import TEXT, TIME, Batch, as_text

VERSION: Final = 1
"""The version of the format that this reader knows."""

_SAME: Final = (
    *("role", "address", "name", "host", "pid", "python", "scheduler", "capture", "nthreads"),
    *("resources", "local_directory", "clock_offset_s", "version"),
)
_COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "start": {
        **{name: name for name in _SAME},
        "time": "start_time",
        "id": "process",
        "memory_limit": "memory_limit_bytes",
    },
    "clock": {"offset_s": "clock_offset_s", "round_trip_s": "clock_round_trip_s"},
    "script": {
        "path": "script",
        "sha256": "script_sha256",
        "size_bytes": "script_size_bytes",
        "argv": "script_arguments",
        "notebook": "notebook",
    },
    "end": {"time": "end_time", "reason": "reason"},
}
"""Kinds of frames about the process: the column of the record for each field."""


@attrs.define
class ProcessFacts:
    """Facts about a process, collected frame by frame.

    file: name of its file; frames: number of frames read; graphs: number of graphs so far;
    cut_bytes: bytes of an incomplete frame at the end; last: the latest time in the record; seen:
    kinds of frames that were read.
    """

    file: str
    frames: int = 0
    graphs: int = 0
    cut_bytes: int = 0
    last: pa.Scalar | None = None
    seen: set[str] = attrs.field(factory=set)
    _values: dict[str, Any] = attrs.field(factory=dict)

    def text(self, column: str) -> str | None:
        """Return a text of the record, for example ``role`` or ``address`` (a client's: its id)."""
        value = self._values.get(column)
        return value if isinstance(value, str) else None

    @property
    def version(self) -> Any:
        """Format version of the file."""
        return self._values.get("version")

    def add(self, kind: str, fields: Mapping[str, Any]) -> bool:
        """Add a frame about the process; return False for a second start, script or end."""
        if kind in self.seen and kind != "clock":
            return False
        self.seen.add(kind)
        columns = _COLUMNS[kind]
        for name, value in fields.items():
            # unknown fields go to the row's extra, by a name that no column has
            column = columns.get(name) or f"{kind}.{name}"
            if kind != "clock" or name in columns:
                self._values[column] = value
        return True

    def saw(self, times: pa.Array) -> None:
        """Update the latest time from the times of rows."""
        latest = pc.max(times)
        if latest.is_valid and (self.last is None or latest.as_py() > self.last.as_py()):
            self.last = latest

    def table(self, ctx: ReadContext) -> Any:
        """Build the row of ``dask.process``; if a value does not fit, reject the row instead."""
        batch = Batch("process")
        batch.add(1, {name: [value] for name, value in self._values.items()}, 1, 1)
        if self.version == VERSION:
            batch.values("version")  # any other version is kept in extra
        counts = {"frames": pa.array([self.frames]), "cut_bytes": pa.array([self.cut_bytes])}
        columns = batch.complete(Process, counts, {}) | {
            "resources": _one(batch, "resources", dict, pa.map_(TEXT, TEXT), _texts),
            "script_arguments": _one(batch, "script_arguments", tuple, pa.list_(TEXT), _listed),
            "notebook": _one(batch, "notebook", bool, pa.bool_(), bool),
        }
        for moment in (columns["start_time"], columns["end_time"]):
            self.saw(moment)
        columns["last_time"] = pa.array([None if self.last is None else self.last.as_py()], TIME)
        return batch.table(Process, columns, ctx)


def _one(batch: Batch, name: str, cls: type, kind: pa.DataType, convert: Any) -> pa.Array:
    """Convert a column of one value to a type that only this record has."""
    (value,) = batch.values(name)
    inner = value.values() if isinstance(value, dict) else value
    if value is not None and (not isinstance(value, cls) or (cls is not bool and None in inner)):
        expected = "a bool" if cls is bool else f"a {cls.__name__} without null"
        batch.refuse_where(pa.array([True]), name, expected)
        value = None
    return pa.array([None if value is None else convert(value)], kind)


def _listed(values: Iterable[Any]) -> list[Any]:
    return as_text(list(values)).to_pylist()  # type: ignore[no-any-return]


def _texts(mapping: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    return list(zip(_listed(mapping), _listed(mapping.values()), strict=True))
