"""CSVs of a Dask run.

The first byte chooses the kind of file and how small the blocks are in which it is read; the rest
stands between two sound rows, which must come out whatever is between them.  From 0xf0 on the
rest is the whole file, header included.
"""

import csv
import io
from pathlib import Path
from random import Random

from harvest_mofka_dask.read.layout import CSV_KINDS
from harvest_mofka_dask.source import MofkaDaskSource
from harvest_toolkit import delimited

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import change_lines
from . import Target

KINDS = tuple(CSV_KINDS)
FIELDS = {
    "key": "('sentinel-{n}', {n})",
    "keys": "{{'sentinel-{n}': 1}}",
    "dependencies": "{{'sentinel-{n}': {{'b'}}}}",
    "start": "released",
    "finish": "waiting",
    "time": "17135533{n:02}.25",
    "stop": "17135533{n:02}.5",
    "type": "incoming_transfer",
    "worker": "tcp://sentinel-{n}:1",
    "client": "sentinel-{n}",
}
SMALL = (3, 17, 64, 300)
"""Bytes of a block; records then lie across the borders."""


def run(data: bytes) -> None:
    """Read a CSV whole and in small blocks."""
    first, body = (data[0], data[1:]) if data else (0, b"")
    kind = KINDS[first % len(KINDS)]
    name, keep = f"{kind}.csv", []
    if first < 0xF0:
        body = _row(kind, None) + _row(kind, 1) + body + b"\n" + _row(kind, 2)
        # behind a quote that is never closed, all is one reject: the rest of the record
        keep = ["sentinel-1", "sentinel-2"]
    path = write(name, body)
    found = check_source(MofkaDaskSource(str(path)), keep=keep)
    if first % 4 == 0 and found is not None:
        _same_in_small_blocks(path, SMALL[first // 4 % len(SMALL)])


def _same_in_small_blocks(path: Path, size: int) -> None:
    usual = delimited.BLOCK_BYTES
    records = _records(path)
    delimited.BLOCK_BYTES = size
    try:
        require(records == _records(path), f"other records in blocks of {size}")
        check_source(MofkaDaskSource(str(path)))
    finally:
        delimited.BLOCK_BYTES = usual


def _records(path: Path) -> list[tuple[int, bytes, str]]:
    found = []
    with path.open("rb") as stream:
        for block in delimited.blocks(stream):
            found += [(int(n), block.raw(i), "") for i, n in enumerate(block.numbers)]
            found += [(d.number, d.raw, d.reason) for d in block.damages]
    return sorted(found)


def _row(kind: str, number: int | None) -> bytes:
    """A sound row of a kind, or its header."""
    known = sorted(CSV_KINDS[kind].known)
    cells = [name if number is None else FIELDS.get(name, "").format(n=number) for name in known]
    if kind == "worker_transfer" and number is not None:
        cells[known.index("start")] = f"17135532{number:02}.25"
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(["" if number is None else number, *cells])
    return out.getvalue().encode()


def make_seeds() -> list[bytes]:
    """Rows of the example run, without and with their header."""
    made = []
    for number, kind in enumerate(KINDS):
        text = seeds.dask_run()[f"{kind}.csv"]
        made.append(bytes([0xF0 + number]) + seeds.lines(text, 6))
        made.append(bytes([number]) + _row(kind, 7) + _row(kind, 8).replace(b"released", b"x"))
    transfers = seeds.dask_run()["worker_transfer.csv"]
    made.append(bytes([0xF0 + KINDS.index("worker_transfer")]) + seeds.lines(transfers, 30))
    return made


def mutate(data: bytes, random: Random) -> bytes:
    """A change of lines or cells; the first byte stays."""
    return data[:1] + change_lines(data[1:], random)


TARGET = Target(
    name="mofka_csv",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
)
