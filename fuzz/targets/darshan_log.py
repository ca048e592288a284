"""Darshan logs.

A log is a header and compressed regions, so that changed bytes mostly end in damaged compression.
An input is therefore written down unpacked: for each region its inflated bytes.  It is packed anew
before it is read; the first byte chooses the packing, and from 0xf0 on the rest is a log as it is.
"""

import struct
from random import Random
from typing import Any

from harvest_darshan.source import DarshanConfig, DarshanSource

from .. import seeds
from ..invariant import check_source, require, write
from . import Target

PACKINGS = ("zlib", "bzip2", "none")
ORDERS = ("<", ">")
VERSIONS = ("3.41", "3.21", "3.00")
EDGE = (0, 1, -1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, 0x8000000000000000, 64, 96, 104)
CONFIG = DarshanConfig(max_inflated_bytes=64 << 20, max_seconds=10.0)
_LENGTH = struct.Struct("<BI")


def run(data: bytes) -> None:
    """A log gives rows or rejects, and at least one of them."""
    path = write("u_a.out_id1-2_1-1-1-1_1.darshan", _packed(data))
    found = check_source(DarshanSource(str(path), CONFIG))
    require(found is not None and (found.tables or found.rejects), "neither rows nor rejects")


def _packed(data: bytes) -> bytes:
    """The log that an input stands for."""
    if not data or data[0] >= 0xF0:
        return data[1:]
    first, rest = data[0], data[1:]
    order = ORDERS[first & 1]
    compression = PACKINGS[(first >> 1) % 3]
    version = VERSIONS[(first >> 3) % 3]
    writer = _tests().LogWriter(order=order, compression=compression, version=version)
    regions: dict[str, tuple[int, bytes]] = {}
    parts = {}
    while len(rest) >= _LENGTH.size:
        number, length = _LENGTH.unpack_from(rest)
        length &= 0xFFFF
        part, rest = rest[_LENGTH.size : _LENGTH.size + length], rest[_LENGTH.size + length :]
        slot, version_of = number & 31, number >> 5
        if slot < 2:
            parts[slot] = part
        else:
            names = writer.numbering()
            regions[names[slot] if slot < len(names) else str(slot)] = (version_of, part)
    return _Changed(writer, parts, regions).build()


class _Changed:
    """A log whose job record, map of names and modules are given as bytes."""

    def __init__(self, writer: Any, parts: dict[int, bytes], regions: dict[str, Any]):
        self.writer, self.parts, self.regions = writer, parts, regions

    def build(self) -> bytes:
        import attrs

        kind = type(self.writer)

        class Log(kind):  # type: ignore[misc,valid-type]
            job = lambda _: self.parts.get(0, kind.job(self.writer))  # noqa: E731
            name_map = lambda _: self.parts.get(1, kind.name_map(self.writer))  # noqa: E731

        made = {a.name: getattr(self.writer, a.name) for a in attrs.fields(kind)}
        data: bytes = Log(**made | {"modules": self.regions}).build()
        return data


def _tests() -> Any:
    global _MODULE
    if _MODULE is None:
        _MODULE = seeds.load_module("plugins/darshan/tests/darshan_logs.py")
    return _MODULE


_MODULE: Any = None


def _input(first: int, parts: dict[int, bytes]) -> bytes:
    """An input that stands for a log of these regions: slot with version -> bytes."""
    packed = (_LENGTH.pack(number, len(data)) + data for number, data in parts.items())
    return bytes([first]) + b"".join(packed)


def make_seeds() -> list[bytes]:
    """Logs with every module of a known layout, in both byte orders."""
    tests = _tests()
    made = []
    for order_bit, order in enumerate(ORDERS):
        writer = tests.LogWriter(order=order)
        names = writer.numbering()
        stdio = struct.pack(order + "Qq14q15d", 7, 0, *range(14), *[0.5] * 15)
        posix = struct.pack(order + "Qq69q17d", 7, 0, *range(69), *[0.5] * 17)
        heat = struct.pack(order + "QqdqQQ4q", 7, 0, 0.5, 2, 0, 0, 1, 2, 3, 4)
        comps = struct.pack(order + "7q16s", 4096, 2, 0, 0, 0, 0, 0, b"p")
        lustre = struct.pack(order + "Qqqq", 7, 0, 1, 2) + comps + struct.pack(order + "2q", 1, 2)
        variant = tests.dxt_record(order, 7, [(0, 1, 0.0, 1.0, "pthread_id=5")] * 3)
        stock = tests.dxt_record(order, 7, [(0, 1, 0.0, 1.0)] * 3, [(0, 1, 0.0, 1.0)] * 2)
        some = {
            "POSIX": (4, posix), "STDIO": (2, stdio), "LUSTRE": (2, lustre),
            "HEATMAP": (1, heat * 2), "DXT_POSIX": (1, variant), "DXT_MPIIO": (2, stock * 2),
        }  # fmt: skip
        for name, (version, data) in some.items():
            number = names.index(name) | version << 5
            made.append(_input(order_bit, {0: writer.job(), 1: writer.name_map(), number: data}))
        counted = bytes(range(256)) * 4
        made += [_input(order_bit, {slot | 1 << 5: counted}) for slot in range(2, len(names))]
        for packing in PACKINGS:
            whole = tests.LogWriter(order=order, compression=packing, modules=some)
            made.append(b"\xf0" + whole.build())
    return made


def mutate(data: bytes, random: Random) -> bytes:
    """Change a number, a length, a region's order, or some bytes."""
    changed = bytearray(data)
    if len(changed) < 10:
        return bytes(changed)
    kind = random.randrange(5)
    place = random.randrange(1, len(changed))
    order = "little" if changed[0] & 1 == 0 else "big"
    if kind <= 1:
        place -= (place - 1 - _LENGTH.size) % 8 if random.random() < 0.7 else 0
        number = random.choice(EDGE) % 2**64
        changed[place : place + 8] = number.to_bytes(8, order)
    elif kind == 2:
        changed[place] ^= 1 << random.randrange(8)
    elif kind == 3:
        del changed[place : place + random.choice([1, 8, 16, 96, 104])]
    else:
        changed[place:place] = changed[place : place + random.choice([8, 32, 96, 104])]
    return bytes(changed)


TARGET = Target(
    name="darshan_log",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=8192,
)
