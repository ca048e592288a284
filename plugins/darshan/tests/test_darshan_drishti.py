"""Drishti 0.8 as the oracle for rules on I/O, over all real samples.

Drishti decides from the counters that PyDarshan reads; what it prints as codes is compared with
the conditions of the rules that name them.  It reads 41 of the 43 logs; of the others, one is
DXT's variant with threads and one has no header (see DIES).

Some codes are defined otherwise here, and compared where both definitions say the same:

- P05, P06, P15 and P16 (small) take requests of exactly 1 MiB for smaller than that: compared for
  logs without any;
- P17 takes the sum over all ranks for the time of one, P18 and P19 divide what two ranks differ by
  by the sum over all: not compared;
- M01 (no MPI-IO), only of programs with several processes that move any bytes;
- M02 and M03 (independent), only of programs with several processes;
- M06 and M07 (blocking MPI-IO), only where there are requests of the kind;
- P09 and P10 (redundant) compare the highest offset of any file with the bytes of all files, and
  call it redundant where the *offset* is greater: not compared.
"""

import csv
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import darshan_logs
import polars as pl
import pytest
from darshan_logs import SAMPLES

import harvest
from harvest.toolkit.frames import condition
from harvest_darshan.rules import RULES
from harvest_darshan.views.grouping import OfLogs
from harvest_darshan.views.jobs import jobs
from harvest_darshan.views.posix_files import posix_files, requests

LOGS = [log for log in darshan_logs.LOGS if log.is_relative_to(SAMPLES / "darshan")]
DIES = {
    "partial-dxt-with-pthread-id.darshan": "'DataFrame' object has no attribute 'counters'",
    "agueroud_mpiexec_id12761-12761_4-18-57269-1827646417573579734.darshan_partial": (
        "Unable to open recorder folder."  # it goes by the ending of the name
    ),
}
MEMORY = 8 << 30
RULE = {rule.name: rule for rule in RULES}
VIEW = {"io.jobs": jobs, "io.requests": requests, "io.posix_files": posix_files}
CODES = {
    "S01": ("io.stdio", None),
    "P05": ("io.small_requests", "op = 'read'"),
    "P06": ("io.small_requests", "op = 'write'"),
    "P07": ("io.misaligned_memory", None),
    "P08": ("io.misaligned_file", None),
    "P11": ("io.random_access", "op = 'read'"),
    "P13": ("io.random_access", "op = 'write'"),
    "P15": ("io.small_requests_shared", "op = 'read'"),
    "P16": ("io.small_requests_shared", "op = 'write'"),
    "P21": ("io.unequal_processes", "write_spread > 0.3"),
    "P22": ("io.unequal_processes", "read_spread > 0.3"),
    "M01": ("io.no_mpiio", None),
    "M02": ("io.independent_mpiio", "op = 'read'"),
    "M03": ("io.independent_mpiio", "op = 'write'"),
    "M06": ("io.blocking_mpiio", "op = 'read'"),
    "M07": ("io.blocking_mpiio", "op = 'write'"),
}
"""Drishti's codes: the rule that decides the same, and which of its rows."""

ONE_SIDED = {"P01", "P02", "P03", "P04"}
"""Mostly writes or reads, by count or by bytes: one rule here."""

pytestmark = [
    pytest.mark.pandas,
    pytest.mark.skipif(not LOGS, reason="no real samples beside this checkout"),
]


def limits() -> None:
    """A damaged log makes the library ask for memory without end."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))


def drishti(log: Path, place: Path) -> set[str] | str:
    """The codes that Drishti gives a log, or what it said when it died."""
    words = [sys.executable, "-c", "from drishti.reporter import main; main()", str(log)]
    done = subprocess.run(
        [*words, "--csv", "--export_dir", str(place)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=limits,
        cwd=place,
    )
    found = list(place.glob("*.csv"))
    if done.returncode or not found:
        return done.stdout + done.stderr
    (row,) = csv.DictReader(found[0].open())
    return {code for code, given in row.items() if given == "True"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Any:
    pytest.importorskip("drishti", reason="drishti-io is not installed")
    out = tmp_path_factory.mktemp("drishti") / "out"
    harvest.run(f"darshan:{SAMPLES / 'darshan'}", f"parquet:{out}", workers=1)
    return harvest.open(out)


def ours(frames: dict[str, pl.DataFrame], rule: str, narrowed: str | None) -> bool:
    """Whether the rule, with its defaults, chooses any row."""
    numbers = {name: threshold.value for name, threshold in RULE[rule].thresholds.items()}
    rows = frames[RULE[rule].view]
    where = f"({RULE[rule].condition(numbers)})" + (f" and {narrowed}" if narrowed else "")
    return rows.filter(condition(where, rows)).height > 0


def comparable(frames: dict[str, pl.DataFrame], posix: pl.DataFrame) -> set[str]:
    """The codes that both define alike for a log."""
    (job,) = frames["io.jobs"].to_dicts()
    codes = set(CODES)
    if any((posix[f"POSIX_ACCESS{n}_ACCESS"] == 1 << 20).any() for n in range(1, 5)):
        codes -= {"P05", "P06", "P15", "P16"}
    if job["largest_log"] == 1 or not job["bytes"]:
        codes.discard("M01")
    if job["largest_log"] == 1:
        codes -= {"M02", "M03"}
    for row in frames["io.requests"].to_dicts():
        if not (row["independent"] or 0) + (row["collective"] or 0):
            codes.discard({"read": "M06", "write": "M07"}[row["op"]])
    return codes


@pytest.mark.parametrize("log", LOGS, ids=[log.name[:60] for log in LOGS])
def test_drishti_decides_the_same(log, dataset, tmp_path):
    theirs = drishti(log, tmp_path)
    if isinstance(theirs, str):
        assert DIES[log.name] in theirs
        return
    origins = dataset["darshan.job"].select(pl.col("origin").cast(pl.String)).collect()["origin"]
    (origin,) = (name for name in origins if Path(name).name == log.name)
    data = OfLogs(dataset, (origin,))
    frames = {name: view(data).collect() for name, view in VIEW.items()}
    codes = comparable(frames, data["darshan.posix"].collect())

    found = {code for code in codes if ours(frames, *CODES[code])}

    assert found == theirs & codes
    assert ours(frames, "io.one_sided", None) == bool(theirs & ONE_SIDED)


def test_the_oracle_is_asked_and_says_something(dataset, tmp_path):
    """Were all answers empty, the comparison above would mean little."""
    (log,) = (log for log in LOGS if log.name == "imbalanced-io.darshan")
    found = drishti(log, tmp_path)
    assert {"P05", "P06", "P07", "P08", "P15", "P16", "P18", "P19", "P21", "M06"} <= set(found)
