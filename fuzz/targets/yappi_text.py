"""Yappi's texts: callgrind, and printed thread tables; the input is the whole file."""

from random import Random

from harvest_yappi.kinds import Format, format_of
from harvest_yappi.source import YappiSource

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import change_lines
from . import Target

TABLE = """Clock type: CPU
Ordered by: totaltime, desc

name                                  ncall  tsub      ttot      tavg
a.py:1 f                              1      0.1       0.2       0.2

name           id     tid              ttot      scnt
_MainThread    0      139642           0.123456  12
Thread         1      139643           0.000001  1
"""


def run(data: bytes) -> None:
    """Read a save."""
    path = write("run.callgrind", data)
    found = check_source(YappiSource(str(path)))
    if found is not None and not found.accounted:
        callgrind = format_of(path) is Format.CALLGRIND
        require(not (callgrind and b"\nfn=(1)" in data), "functions without a row or a reject")


def make_seeds() -> list[bytes]:
    """A save as the tests have it, and tables."""
    tests = seeds.load_module("plugins/yappi/tests/test_yappi_source.py")
    greenlets = TABLE.replace("     tid         ", "").replace("139642", "").replace("139643", "")
    big = tests.CALLGRIND.replace("calls=4 0", "calls=999999999999999999 0")
    return [text.encode() for text in (tests.CALLGRIND, TABLE, greenlets, big)]


def mutate(data: bytes, random: Random) -> bytes:
    """A change of lines or words."""
    return change_lines(data, random, random.choice([b" ", b"=", b":"]))


TARGET = Target(
    name="yappi_text",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=4096,
)
