"""Yappi's pstat: a marshalled dict.

marshal itself may crash on damaged bytes, which is why the source reads a file in a process of its
own.  An input whose first byte is even goes that way.  Of the others the bytes choose a value that
marshal could give, and its rows are checked in this process, where coverage guides the fuzzer.
"""

import json
import marshal
from random import Random
from typing import Any

from harvest_yappi import unmarshal
from harvest_yappi.source import YappiConfig, YappiSource

from ..invariant import check_source, require, write
from . import Target

LEAVES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 2**63 - 1, 2**63, -(2**63), 10**5000, 0.5, float("nan"), float("inf"),
    1e308, "", "run.py", "f", "\ud800", "\x00\x1b[2J", b"bytes", (), 1j, Ellipsis, StopIteration,
)  # fmt: skip
SOUND = {
    ("run.py", 3, "main"): (1, 1, 0.5, 1.5, {}),
    ("run.py", 9, "work"): (2, 4, 0.5, 1.0, {("run.py", 3, "main"): (2, 4, 0.5, 1.0)}),
    ("~", 0, "<built-in>"): (1, 1, 0.0, 0.0, {("run.py", 9, "work"): 1}),
}


def run(data: bytes) -> None:
    """Rows of a marshalled dict, or one reject."""
    first, body = (data[0], data[1:]) if data else (0, b"")
    if first % 2 == 0:
        path = write("run.pstat", body)
        found = check_source(YappiSource(str(path), YappiConfig(max_memory_bytes=512 << 20)))
        require(found is None or found.accounted or body[:1] in b"{\xfb", "nothing at all")
        return
    values = _Values(body)
    stats = {values.key(): values.entry() for _ in range(1 + values.byte() % 4)}
    told = list(unmarshal.rows(stats))
    require(len(told) >= len(stats), "a function without a row")
    for row in told:
        json.loads(json.dumps(row))
        require(row[0] in ("bad", "function", "call"), f"a row {row[0]!r}")


class _Values:
    """Values made of bytes: mostly sound ones, so that each kind of damage is met alone."""

    def __init__(self, data: bytes):
        self.data, self.place = data, 0

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1] if self.place <= len(self.data) else 0

    def pick(self, usual: Any) -> Any:
        number = self.byte()
        return LEAVES[number % len(LEAVES)] if number >= 192 else usual

    def key(self) -> Any:
        made = (self.pick("run.py"), self.pick(self.byte()), self.pick("f"))
        return made[: 3 - (self.byte() >= 240)] if self.byte() < 240 else self.pick(1)

    def costs(self) -> tuple[Any, ...]:
        made = (self.pick(1), self.pick(2), self.pick(0.5), self.pick(1.5))
        return made[: 4 - (self.byte() >= 240)]

    def entry(self) -> Any:
        callers = {self.key(): self.pick(self.costs()) for _ in range(self.byte() % 3)}
        made = (*self.costs(), self.pick(callers))
        return self.pick(made)


def make_seeds() -> list[bytes]:
    """A sound save, and values."""
    return [
        b"\0" + marshal.dumps(SOUND),
        b"\0" + marshal.dumps(SOUND, 2),
        b"\0" + marshal.dumps({("a", 1, "b"): 1}),
        b"\1" + bytes(64),
        b"\1" + bytes(range(0, 256, 3)),
        b"\1" + bytes(range(255, 0, -2)),
    ]


def mutate(data: bytes, random: Random) -> bytes:
    """Mostly values, since a process for each input is slow."""
    first = b"\0" if data[:1] == b"\0" and random.random() < 0.2 else b"\1"
    changed = bytearray(data[1:] or b"\0")
    for _ in range(random.randint(1, 4)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return first + bytes(changed)


TARGET = Target(
    name="yappi_pstat",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=1024,
)
