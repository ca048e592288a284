"""Distiller's CSV exports; the input is the whole file, its last byte chooses blocks, too."""

from random import Random

from harvest_distiller.source import DistillerSource
from harvest_toolkit import delimited

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import change_lines
from . import Target


def run(data: bytes) -> None:
    """Read an export whole and in small blocks; where no cell holds line ends, each is a unit."""
    path = write("128_128.csv", data)
    source = DistillerSource(str(path))
    found = check_source(source)
    if found is None or data[-1] % 4:
        return
    if b'"' not in data:
        lines = data.count(b"\n") + (not data.endswith(b"\n")) - 1
        require((found.units or 0) >= lines, f"{lines} lines, {found.units} units")
    usual, delimited.BLOCK_BYTES = delimited.BLOCK_BYTES, 20 + data[-1]
    try:
        cut = check_source(source)
    finally:
        delimited.BLOCK_BYTES = usual
    require(cut is not None and cut.written == found.written, "other rows in small blocks")


def make_seeds() -> list[bytes]:
    """The first lines of the example's exports, and elapsed times of all forms."""
    exports = [data for data in seeds.study().values() if data.startswith(b"id,slurm_id")]
    odd = (
        b"id,slurm_id,elapsed,note\n1,,,x\n2,58250603.0,0 days 00:19:38,y\n3,4,1-02:03:04,\n",
        b'elapsed,slurm_id,id\n"1 day, 00:00:01.5",5,6\n-00:00:01,7,8\n3 days,9,10\n',
        b"id,slurm_id,elapsed,raw,#scan,elapsed_s,negative\n1,2,00:00:03,a,b,c,d\nx,2,3,a,b,c,d\n",
    )
    return [*(seeds.lines(data, 6) for data in exports), *odd]


def mutate(data: bytes, random: Random) -> bytes:
    """A change of lines or cells."""
    return change_lines(data, random)


TARGET = Target(
    name="distiller_csv",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=4096,
)
