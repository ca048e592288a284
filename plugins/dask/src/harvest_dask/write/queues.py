"""Bounded queues between the computation and the writer thread.

The computation pays only for one append; a full queue counts the rows it loses. Keys and messages
become text.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from .frames import LARGEST, pack

Columns = Mapping[str, Sequence[Any]]
Payload = dict[str, Any]

FRAME_ROWS: Final = 4_096
"""Maximum rows of a frame: packing one blocks the process for some milliseconds."""

LONGEST: Final = 10_000
"""Maximum characters of a message."""


def in_columns(names: Sequence[str], rows: Sequence[Any]) -> Columns:
    """Convert rows to columns with these names; keys become text."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return columns | {"key": spell_all(columns["key"])} if "key" in columns else columns


class _Losses:
    """Counter of rows lost to a full queue or too large for a frame, and since when."""

    def __init__(self) -> None:
        self._lost = 0
        self._since: float | None = None
        self._lock = threading.Lock()

    def lose(self, rows: int) -> None:
        """Count rows as lost."""
        with self._lock:
            self._lost += rows
            if self._since is None:
                self._since = time.time()

    def take_lost(self) -> tuple[int, float | None]:
        """Return the number of rows lost since the last call, and the time of the first loss."""
        with self._lock:
            found = self._lost, self._since
            self._lost, self._since = 0, None
        return found


class Stream(_Losses):
    """A queue of rows of one kind; ``shape`` converts them to columns in the writer thread."""

    def __init__(self, kind: str, shape: Callable[[Sequence[Any]], Columns], limit: int) -> None:
        super().__init__()
        self.kind = kind
        self.shape = shape
        self.rows: deque[Any] = deque()
        self.limit = limit

    def append(self, row: Any) -> None:
        """Add a row, or count it as lost."""
        if len(self.rows) < self.limit:
            self.rows.append(row)
        else:
            self.lose(1)

    def __len__(self) -> int:
        return len(self.rows)

    def frames(self) -> Iterator[tuple[bytes, int]]:
        """Yield the waiting rows as payloads, each with its number of rows."""
        waiting = len(self.rows)
        while waiting:
            n = min(waiting, FRAME_ROWS)
            waiting -= n
            yield from self._packed([self.rows.popleft() for _ in range(n)])

    def _packed(self, rows: Sequence[Any]) -> Iterator[tuple[bytes, int]]:
        """Pack rows into one payload; split them in two if it would be too large."""
        columns = self.shape(rows)
        kept = {k: v for k, v in columns.items() if any(x is not None for x in v)}
        payload = pack({"kind": self.kind, "n": len(rows), "columns": kept})
        if len(payload) <= LARGEST:
            yield payload, len(rows)
        elif len(rows) == 1:
            self.lose(1)
        else:
            half = len(rows) // 2
            yield from self._packed(rows[:half])
            yield from self._packed(rows[half:])


class Singles(_Losses):
    """A queue of functions that make single frames; the writer thread calls them."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self._waiting: deque[tuple[Callable[[], Iterable[Payload]], int]] = deque()
        self._rows = 0
        self._count = threading.Lock()

    def append(self, make: Callable[[], Iterable[Payload]], rows: int) -> None:
        """Add frames that represent ``rows`` rows, or count the rows as lost."""
        with self._count:
            fits = self.limit > 0 and (not self._rows or self._rows + rows <= self.limit)
            if fits:
                self._rows += rows
                self._waiting.append((make, rows))
        if not fits:
            self.lose(rows)

    def __len__(self) -> int:
        return self._rows

    def frames(self) -> Iterator[tuple[bytes, int]]:
        """Yield the waiting frames as payloads, each with the number of rows it represents."""
        for _ in range(len(self._waiting)):
            with self._count:
                make, rows = self._waiting.popleft()
                self._rows -= rows
            for payload in map(pack, make()):
                if len(payload) > LARGEST:
                    self.lose(rows)
                else:
                    yield payload, rows
                rows = 0  # the first payload counts all rows


def spell(key: Any) -> str:
    """Convert a key to text: a string unchanged, a tuple as Python prints it."""
    return key if type(key) is str else str(key)


def spell_all(keys: Iterable[Any]) -> list[str]:
    """Convert keys to text."""
    return [key if type(key) is str else str(key) for key in keys]


def as_json(message: Any) -> str:
    """Convert a Dask message to JSON, truncated if long."""
    return json.dumps(_plain(message))[:LONGEST]


def _plain(value: Any) -> Any:
    """Convert parts of a value that JSON has no type for to text."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {spell(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, bytes):
        return f"{len(value)} bytes"  # a pickled function
    if isinstance(value, Set):
        return sorted(map(str, value))
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else str(value)
