"""Write a Darshan log, byte by byte: format 3.41 with the modules POSIX and DXT_POSIX.

A log is a header and regions that are compressed one by one: the job record, the names, and one
for each module.  DXT_POSIX is the variant recorded in Dask runs, whose segments name their thread.
"""

import hashlib
import itertools
import struct
import zlib
from typing import NamedTuple

MAGIC, SLOTS, POSIX, DXT_POSIX = 6567223, 64, 1, 10
POSIX_INTEGERS, POSIX_FLOATS = 69, 17
SIZES = (100, 1024, 10_240, 102_400, 1_048_576, 4_194_304)  # upper ends of Darshan's classes


class Operation(NamedTuple):
    """One read or write: times in seconds of the epoch."""

    op: str
    offset: int
    length: int
    start: float
    end: float
    thread: int


Files = dict[str, list[Operation]]


def log(files: Files, job_id: int, host: str, kept: int | None) -> bytes:
    """The log of a process.

    kept: operations of each file in the trace, which is marked as cut off; None keeps all.
    """
    every = [o for done in files.values() for o in done]
    start, end = int(min(o.start for o in every)) - 3, int(max(o.end for o in every)) + 2
    command = "python -m distributed.cli.dask_worker --nthreads 2\nlustre\t/scratch\next4\t/"
    job = struct.pack("<7q", 1000, start, 250_000_000, end, 0, 1, job_id)
    job += b"lib_ver=3.4.4\n".ljust(1024, b"\0") + command.encode() + b"\0"
    names = b"".join(struct.pack("<Q", record_id(p)) + p.encode() + b"\0" for p in files)
    begun = start + 0.25
    counters = b"".join(posix_record(p, done, begun) for p, done in files.items())
    traces = b"".join(dxt_record(p, done[:kept], begun, host) for p, done in files.items())

    header = struct.Struct(f"<8sqB7xQ{2 + 2 * SLOTS}Q{SLOTS}I")
    places, body = [0] * (2 + 2 * SLOTS), zlib.compress(job)
    for place, data in ((0, names), (2 + 2 * POSIX, counters), (2 + 2 * DXT_POSIX, traces)):
        packed = zlib.compress(data)
        places[place : place + 2] = header.size + len(body), len(packed)
        body += packed
    versions = [{POSIX: 4, DXT_POSIX: 1}.get(slot, 0) for slot in range(SLOTS)]
    flags = 0 if kept is None else 1 << DXT_POSIX
    return header.pack(b"3.41", MAGIC, 0, flags, *places, *versions) + body


def posix_record(path: str, done: list[Operation], start: float) -> bytes:
    """The counters of a file; those that need a look into the memory of the process are 0."""
    integers, floats = [0] * POSIX_INTEGERS, [0.0] * POSIX_FLOATS
    integers[0] = 1  # opens
    for way, op in enumerate(("read", "write")):
        mine = [o for o in done if o.op == op]
        following = list(itertools.pairwise(mine))
        integers[3 + way] = len(mine)
        integers[14 + way] = sum(o.length for o in mine)
        integers[16 + way] = max((o.offset + o.length - 1 for o in mine), default=0)
        integers[18 + way] = sum(b.offset == a.offset + a.length for a, b in following)
        integers[20 + way] = sum(b.offset > a.offset for a, b in following)
        for o in mine:
            integers[29 + 10 * way + sum(o.length > size for size in SIZES)] += 1
        if mine:
            floats[1 + way] = mine[0].start - start
            floats[5 + way] = max(o.end for o in mine) - start
            floats[8 + way] = sum(o.end - o.start for o in mine)
            floats[11 + way] = max(o.end - o.start for o in mine)
    head = struct.pack("<Qq", record_id(path), 0)
    return head + struct.pack(f"<{POSIX_INTEGERS}q{POSIX_FLOATS}d", *integers, *floats)


def dxt_record(path: str, done: list[Operation], start: float, host: str) -> bytes:
    """The trace of a file: writes before reads, each with the thread that did it."""
    writes, reads = ([o for o in done if o.op == op] for op in ("write", "read"))
    data = struct.pack("<Qqq64sqq", record_id(path), 0, 0, host.encode(), len(writes), len(reads))
    for o in (*writes, *reads):
        times = (o.start - start, o.end - start)
        text = f"pthread_id={o.thread}".encode()
        data += struct.pack("<qqdd64s", o.offset, o.length, *times, text)
    return data


def record_id(path: str) -> int:
    """Darshan's id of a name is a hash of it; which one makes no difference to a reader."""
    return int.from_bytes(hashlib.blake2b(path.encode(), digest_size=8).digest(), "little")
