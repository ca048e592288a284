"""Helpers for tests of logs: write one, read it, and what a plain reader makes of it."""

from pathlib import Path
from typing import Any

from harvest_pbs.source import PbsConfig, PbsSource
from harvest_testing import Collected, collect

ABOUT = (
    "user=ann group=phys jobname=run queue=workq ctime=1772442000 qtime=1772442000 etime=1772442000"
)
HERE = "exec_host=n1/0*4 exec_vnode=(n1:ncpus=4) Resource_List.ncpus=4"


def line(kind: str, job: str, text: str = "", time: str = "10:00:00") -> str:
    """A record of 2 March 2026."""
    return f"03/02/2026 {time};{kind};{job};{text}"


def started(job: str, start: int = 1772442002) -> str:
    """A record S."""
    return line("S", job, f"{ABOUT} start={start} {HERE} resource_assigned.ncpus=8 ")


def ended(
    job: str, status: object = 0, *, kind: str = "E", start: int = 1772442002, more: str = ""
) -> str:
    """A record E or R, of a run of 58 s."""
    used = f"end={start + 60} Exit_status={status} resources_used.walltime=00:00:58"
    return line(kind, job, f"{ABOUT} start={start} {HERE} session=7 {used} {more}run_count=1")


def read(path: Path, *lines: str, **settings: Any) -> Collected:
    """What the source makes of some lines; by default the server is in Zurich."""
    path.write_text("".join(f"{each}\n" for each in lines))
    return collect(PbsSource(str(path), PbsConfig(**{"timezone": "Europe/Zurich", **settings})))


def job(path: Path, *lines: str) -> dict[str, Any]:
    """The one row of ``pbs.job``."""
    found = read(path, *lines)
    assert not found.rejects
    (row,) = found.rows("pbs.job")
    return row
