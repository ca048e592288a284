"""Policy lists of a GPFS.

The first byte chooses a style and the parser's settings; the rest stands between two sound lines.
From 0xf0 on the rest is the whole list.
"""

from random import Random
from urllib.parse import quote

from harvest_gpfs.config import GpfsConfig
from harvest_gpfs.source import GpfsSource

from ..invariant import check_source, require, write
from ..mutate import change_lines
from . import Target

TIME = "2026-01-10 11:12:13.123456"
KEYED = (
    "|size=4096|kballoc=8|access={t}|create={t}|modify={t}|uid=7|gid=8|heat=0.5|pool=data|misc=F|"
)
SHORT = "s=4096 a=8 u=7 g=8 m=-rw-r--r-- p=data ac=1768043533 mt=1768043533 cr=1768043533 nl=1"
HEADER = "# fields: size,kballoc,atime,uid\n"
STYLES = (
    ("", "{n} 77 0  " + quote(KEYED.format(t=TIME), safe="") + " -- %2Fgpfs%2Fsentinel-{n}"),
    ("", "{n} 77 0  " + KEYED.format(t=TIME) + " -- /gpfs/sentinel-{n}"),
    ("[I] a banner\n", "<0> {n} 77 0  " + SHORT + " -- /gpfs/sentinel-{n}"),
    ("", "{n} 77 0   -- /gpfs/sentinel-{n}"),
)
SUFFIXES = ("", " -- b", "%20x", "\\n", "é", " ")


def run(data: bytes) -> None:
    """Read a list; every line of it is a unit."""
    first, body = (data[0], data[1:]) if data else (0, b"")
    keep = []
    if first < 0xF0:
        header, line = STYLES[first % len(STYLES)]
        body = f"{header}{line.format(n=1)}\n".encode() + body + f"\n{line.format(n=2)}\n".encode()
        keep = ["sentinel-1", "sentinel-2"]
    found = check_source(GpfsSource(str(write("a.list", body)), GpfsConfig()), keep=keep)
    if found is not None and body.strip():
        require(found.accounted or found.notes, "neither rows, rejects nor notes")


def make_seeds() -> list[bytes]:
    """Lines of each style, with names that need their escapes."""
    made = []
    for number, (header, line) in enumerate(STYLES):
        lines = [line.format(n=n + 3) + suffix for n, suffix in enumerate(SUFFIXES)]
        made.append(bytes([number]) + "\n".join(lines).encode())
        made.append(b"\xf0" + (header + "\n".join(lines)).encode() + b"\n# end rows=6\n")
    fields = "9 77 0  4096 8 2026-01-10 7 -- /gpfs/a\n10 77 0  - 8 x 7 -- /gpfs/b\n"
    return [*made, b"\xf0" + (HEADER + fields).encode(), b"\xf0" + b"\xff\xfe 1 -- /\xff\n" * 3]


def mutate(data: bytes, random: Random) -> bytes:
    """A change of lines or attributes; the first byte stays."""
    return data[:1] + change_lines(data[1:], random, random.choice([b"|", b" ", b"%7C", b"="]))


TARGET = Target(
    name="gpfs_lines",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=4096,
)
