"""Small files that stand for huge ones cost a bounded amount of memory, never the run.

Each case is a sparse file: a sound beginning, then a line of zeros without an end.  It is read in
a process of its own, whose peak memory is told.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import importlib, json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
module, name, path = sys.argv[1:]
from harvest import collect
found = collect(getattr(importlib.import_module(module), name)(path))
with open("/proc/self/status") as status:
    peak = int(status.read().split("VmHWM:")[1].split()[0]) // 1024
print(json.dumps([found.units == found.accounted, found.written, len(found.rejects), peak]))
"""
MIB = 1 << 20
PEAK_MB = 900
SLURM_MB = 500

SACCT = "JobID|JobName|User|State|ExitCode|Elapsed|Start\n"
JOB = "1|job|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:00\n"
TEXT = SACCT + JOB
CSV = TEXT.replace("|", ",")
LAST_FREE = "JobID|User|State|Elapsed|Comment\n1|ann|COMPLETED|00:00:05|hm\n"
FIXED = "JobID        State     \n------------ ----------\n1            COMPLETED \n"


PBS = '{"pbs_version":"20","pbs_server":"a","Jobs":{'


def read(module: str, name: str, path: Path) -> tuple[int, int, int]:
    """Rows, rejects and peak memory in MB of reading a file."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, module, name, str(path)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    balanced, rows, rejects, peak = json.loads(done.stdout)
    assert balanced
    return rows, rejects, peak


@pytest.mark.parametrize(
    ("module", "source", "name", "head"),
    [
        ("harvest_mofka_dask.source", "MofkaDaskSource", "worker.e", "x\n"),
        ("harvest_mofka_dask.source", "MofkaDaskSource", "consumer.o", "data failure: x\n"),
        ("harvest_mofka_dask.source", "MofkaDaskSource", "config.txt", "A b\n"),
        ("harvest_mofka_dask.source", "MofkaDaskSource", "config.json", '{"a": "'),
        ("harvest_yappi.source", "YappiSource", "a.callgrind", "version: 1\nevents: Ticks\n"),
        ("harvest_yappi.source", "YappiSource", "a.txt", "name  id  tid  ttot  scnt\n"),
        ("harvest_yappi.source", "YappiSource", "a.pstat", "{)\x03"),
        ("harvest_ncem.source", "NcemSource", "4dstem_rec_status_0_scan_1.json", '{"a": "'),
        ("harvest_pbs.source", "PbsSource", "20260302", "03/02/2026 10:00:00;E;1.a;user="),
        ("harvest_pbs.source", "PbsSource", "a.json", PBS + '"1.a":{"b":"'),
        ("harvest_darshan.source", "DarshanSource", "a.darshan", "3.41\0\0\0\0"),
        ("harvest_ncem.source", "NcemSource", "scans.csv", "distiller_id,scan_number,datetime\n"),
        ("harvest_distiller.source", "DistillerSource", "128_128.csv", "id,slurm_id,elapsed\n"),
    ],
)
def test_a_line_without_end_costs_bounded_memory(
    tmp_path: Path, module: str, source: str, name: str, head: str
) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(head.encode())
        file.truncate(256 * MIB)
    rows, rejects, peak = read(module, source, path)
    assert rows + rejects >= 1
    assert peak < PEAK_MB


@pytest.mark.parametrize("head", [TEXT, CSV, LAST_FREE, FIXED, TEXT + JOB[:20], '{"jobs":[{"a":"'])
def test_a_line_without_end_in_accounting_costs_less_still(tmp_path: Path, head: str) -> None:
    # given a dump of one job, then a line of 256 MiB, and behind it another job
    path = tmp_path / "dump.txt"
    with path.open("wb") as file:
        file.write(head.encode())
        file.truncate(256 * MIB)
        file.seek(0, 2)
        file.write(b"\n" + head.splitlines()[-1].encode() + b"\n")
    rows, rejects, peak = read("harvest_slurm.source", "SlurmSource", path)
    assert (rows, rejects) == ((0, 1) if head.startswith("{") else
                               (1, 2) if head.endswith(JOB[:20]) else (2, 1))  # fmt: skip
    assert peak < SLURM_MB


@pytest.mark.parametrize("head", [TEXT, LAST_FREE, FIXED, SACCT + (JOB + "\n" * 900) * 2_000])
def test_millions_of_empty_lines_are_no_work_each(tmp_path: Path, head: str) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(head + "\n" * (4 * MIB) + head.splitlines()[-1] + "\n")
    rows, rejects, peak = read("harvest_slurm.source", "SlurmSource", path)
    assert (rows, rejects) == (head.count("COMPLETED") + (head.splitlines()[-1] != ""), 0)
    assert peak < SLURM_MB


def test_a_quote_that_is_never_closed_costs_no_line(tmp_path: Path) -> None:
    # given commas and one quote: not CSV, so the quote is part of its text
    path = tmp_path / "dump.csv"
    job = JOB.replace("|", ",")
    path.write_text(CSV + '2,"odd' + job[5:] + job * 200_000)
    rows, rejects, peak = read("harvest_slurm.source", "SlurmSource", path)
    assert (rows, rejects) == (200_002, 0)
    assert peak < PEAK_MB


@pytest.mark.parametrize("depth", [100, 100_000])
@pytest.mark.parametrize(
    ("module", "source", "name"),
    [
        ("harvest_mofka_dask.source", "MofkaDaskSource", "config.json"),
        ("harvest_mofka_dask.source", "MofkaDaskSource", "dask.yaml"),
        ("harvest_ncem.source", "NcemSource", "4dstem_rec_status_0_scan_1.json"),
    ],
)
def test_deep_nesting_is_a_reject(
    tmp_path: Path, module: str, source: str, name: str, depth: int
) -> None:
    (tmp_path / name).write_text('{"a":' * depth + "1" + "}" * depth)
    rows, rejects, _ = read(module, source, tmp_path / name)
    assert (rows, rejects) in {(0, 1), (1, 0)}
    assert depth < 1_000 or rejects == 1


def test_a_long_row_of_digits_is_looked_at_in_linear_time(tmp_path: Path) -> None:
    # given output of a job that once took a time that grew with the square of a line's length
    text = "Currently Loaded Modules:\n" + ("1" * 16_000 + "\n") * 200
    (tmp_path / "job.o1").write_text(text)
    rows, rejects, _ = read("harvest_mofka_dask.source", "MofkaDaskSource", tmp_path / "job.o1")
    assert (rows, rejects) == (0, 0)


def test_a_directive_without_end_is_a_reject(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#PBS -q a\n#PBS -N " + "a" * 4_000_000 + "\n")
    rows, rejects, _ = read("harvest_mofka_dask.source", "MofkaDaskSource", tmp_path / "job.sh")
    assert (rows, rejects) == (1, 1)
