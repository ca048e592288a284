"""Tables of NCEM's timestamps; the input is the whole file, its last byte chooses blocks, too."""

from random import Random

from harvest_ncem.config import NcemConfig
from harvest_ncem.source import NcemSource
from harvest_toolkit import delimited

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import change_lines
from . import Target


def run(data: bytes) -> None:
    """Read a table whole and in small blocks."""
    path = write("times.csv", data)
    source = NcemSource(str(path), NcemConfig(clock_offset={"1": "-27ms", "nersc": "1s"}))
    found = check_source(source)
    if found is None or data[-1] % 4:
        return
    usual, delimited.BLOCK_BYTES = delimited.BLOCK_BYTES, 20 + data[-1]
    try:
        cut = check_source(source)
    finally:
        delimited.BLOCK_BYTES = usual
    require(cut is not None and _counts(cut) == _counts(found), "other counts in small blocks")


def _counts(found: object) -> object:
    return (found.units, found.written, len(found.rejects))  # type: ignore[attr-defined]


def make_seeds() -> list[bytes]:
    """The first lines of the example study's tables."""
    tables = [data for name, data in seeds.study().items() if b"scan_number" in data[:40]]
    heads = [seeds.lines(data, 6) for data in tables if data.count(b"\n") > 3]
    odd = (
        b"scan_number,time0,note\n1,2023-11-05 01:30:00,a\n2,,b\n3,x,c\n",
        b"scan_number,time0,time1,time_last_written,distiller_id,#distiller_id\n1,,,2023-01-01,5,x\n",
        b'distiller_id,scan_number,datetime\n00001,2,"2023-01-01 00:00:00"\n,3,2023-01-02 00:00:00',
    )
    return [*heads, *odd]


def mutate(data: bytes, random: Random) -> bytes:
    """A change of lines or cells."""
    return change_lines(data, random)


TARGET = Target(
    name="ncem_tables",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=4096,
)
