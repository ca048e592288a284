"""sacct's text in its layouts.

The first byte chooses the layout; the rest stands between the header with a sound job, and another
sound job.  From 0xf0 on the rest is the whole dump.
"""

from random import Random

from harvest_slurm.config import SlurmConfig
from harvest_slurm.read.text import read_text
from harvest_slurm.source import SlurmSource

from ..invariant import check_source, write
from ..mutate import change_lines
from . import Target

HEADER = [
    "JobID",
    "JobIDRaw",
    "JobName",
    "User",
    "Partition",
    "State",
    "ExitCode",
    "Elapsed",
    "Timelimit",
    "Submit",
    "Start",
    "End",
    "ReqMem",
    "MaxRSS",
    "ReqTRES",
    "AllocTRES",
    "NNodes",
    "NodeList",
    "TotalCPU",
    "Comment",
]
JOB = [
    "{id}",
    "{id}",
    "{name}",
    "ann",
    "batch",
    "COMPLETED",
    "0:0",
    "00:01:05",
    "1-00:00:00",
    "2024-01-02T03:04:05",
    "2024-01-02T03:05:00",
    "2024-01-02T03:06:05",
    "4000Mc",
    "12345K",
    "billing=2,cpu=2,gres/gpu:a100=1",
    "cpu=2,mem=8G",
    "1",
    "n[1-3]",
    "00:03.250",
    "",
]
MARKS = ("|", ";|;", ",", "\t", "\x1f")
LAYOUTS = tuple((mark, end) for mark in MARKS for end in (False, True))
ZONES = (None, "Europe/Zurich", "America/Los_Angeles")


def run(data: bytes) -> None:
    """Read a dump whole, and in small blocks."""
    first, body = (data[0], data[1:]) if data else (0, b"")
    keep: list[str] = []
    config = SlurmConfig(timezone=ZONES[first % len(ZONES)])
    if first < 0xF0:
        mark, end = LAYOUTS[first % len(LAYOUTS)]
        head = _line(HEADER, mark, end) + _job(1, mark, end)
        body = head + body + b"\n" + _job(2, mark, end)
        keep = ["sentinel-1", "sentinel-2"]
    elif first >= 0xF8:
        config = SlurmConfig(columns=tuple(HEADER), delimiter="|", timezone="UTC")
    path = write("dump.txt", body)
    found = check_source(SlurmSource(str(path), config), keep=keep)
    if found is None or first % 4:
        return
    # where a damaged line may belong to its neighbour, the border of a block may decide: the rows
    # may differ then, but nothing may be lost
    usual = read_text.__kwdefaults__["block_bytes"]
    read_text.__kwdefaults__["block_bytes"] = (7, 40, 200, 1000)[first // 4 % 4]
    try:
        check_source(SlurmSource(str(path), config), keep=keep)
    finally:
        read_text.__kwdefaults__["block_bytes"] = usual


def _job(number: int, mark: str, end: bool) -> bytes:
    cells = [cell.format(id=7000 + number, name=f"sentinel-{number}") for cell in JOB]
    return _line([f'"{c}"' if mark == "," and "," in c else c for c in cells], mark, end)


def _line(cells: list[str], mark: str, end: bool) -> bytes:
    return (mark.join(cells) + (mark if end else "") + "\n").encode()


def make_seeds() -> list[bytes]:
    """Jobs and steps with the values that sacct prints, in each layout."""
    made = []
    rows = [
        ["8_[1-4%2]", "8", "a|b", "", "", "PENDING", "0:0", "00:00:00", "Partition_Limit",
         "2024-01-02T03:04:05", "Unknown", "Unknown", "4Gn", "", "", "", "1", "None assigned", "",
         ""],
        ["8_1.batch", "9.batch", "two\nlines", "", "", "CANCELLED by 1000", "0:15", "1-00:00:01",
         "", "2024-01-02T03:04:05", "None", "INVALID", "16?", "1.5M", "", "cpu=1", "1", "n1",
         "1-00:00:01.5", "x"],
        ["10+0", "10", "hét", "bob", "p", "RUNNING", "3:0", "365-00:00:00", "UNLIMITED",
         "1704164645", "2024-03-10T02:30:00", "2024-11-03T01:30:00", "0", "", "", "", "2",
         "n[01-02]", "", ""],
    ]  # fmt: skip
    for number, (mark, end) in enumerate(LAYOUTS):
        text = b"".join(_line(row, mark, end) for row in rows)
        made.append(bytes([number]) + text)
        made.append(b"\xf0" + _line(HEADER, mark, end) + _job(1, mark, end) + text)
    fixed = (
        "JobID           JobName      State ExitCode \n------------ ---------- ---------- -----\n"
    )
    fixed += (
        "7             sentinel+  COMPLETED      0:0 \n7.batch           batch FAILED      1:0\n"
    )
    made.append(b"\xf0" + fixed.encode())
    made.append(b"\xf8" + b"".join(_line(row, "|", end=False) for row in rows))
    return made


def mutate(data: bytes, random: Random) -> bytes:
    """A change of lines or cells; the first byte stays."""
    mark = LAYOUTS[data[0] % len(LAYOUTS)][0] if data and data[0] < 0xF0 else "|"
    return data[:1] + change_lines(data[1:], random, mark.encode())


TARGET = Target(
    name="slurm_text",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
)
