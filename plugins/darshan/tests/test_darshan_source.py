"""The source: what it takes for a log, and what hostile logs cost."""

import bz2
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from darshan_logs import STDIO, LogWriter, dxt_record

import harvest
from harvest import collect
from harvest_darshan.source import DarshanSource


def test_a_directory_of_mixed_files(tmp_path):
    # given logs, broken ones, and files of other kinds, at several depths
    log = LogWriter(modules={"STDIO": (2, STDIO)}).build()
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/b_id1-2_1-1-1-1_1.darshan").write_bytes(log)
    (tmp_path / "renamed.bin").write_bytes(log)
    (tmp_path / "worker.csv").write_text("time,worker\n1,tcp://a\n")
    (tmp_path / "empty.darshan").write_bytes(b"")
    (tmp_path / "killed.darshan_partial").write_bytes(b"\0" * 2000)

    found = collect(DarshanSource(str(tmp_path)))

    assert [p.id for p in found.partitions] == [
        "empty.darshan",
        "killed.darshan_partial",
        "renamed.bin",
        "deep/er/b_id1-2_1-1-1-1_1.darshan",
    ]
    assert len(found.rows("darshan.job")) == 2
    assert [Path(r.origin).name for r in found.rejects] == [
        "empty.darshan",
        "killed.darshan_partial",
    ]
    assert found.units == found.accounted


def test_a_link_that_leads_nowhere_is_one_reject(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/there.darshan").write_bytes(LogWriter().build())
    (tmp_path / "in/lost.darshan").symlink_to(tmp_path / "gone")

    result = harvest.run(f"darshan:{tmp_path}/in", f"jsonl:{tmp_path}/out")

    assert result.account.rejected == 1
    assert [part.partition for part in result.parts if part.rejected] == ["lost.darshan"]


def test_two_logs_of_one_process_are_two_jobs_with_one_pid(tmp_path):
    for number in (1, 2):
        name = f"u_python_id815-815_4-19-68487-{number}_1.darshan"
        (tmp_path / name).write_bytes(LogWriter(job_id=815).build())

    jobs = collect(DarshanSource(str(tmp_path))).rows("darshan.job")

    assert [job["pid"] for job in jobs] == [815, 815]
    assert len({job["origin"] for job in jobs}) == 2


def test_a_directory_without_logs_and_a_missing_one_are_errors(tmp_path):
    with pytest.raises(harvest.SourceError, match="no Darshan log"):
        list(DarshanSource(str(tmp_path)).plan())
    with pytest.raises(harvest.SourceError, match="no such file"):
        list(DarshanSource(str(tmp_path / "nowhere")).plan())


def test_detection(tmp_path):
    log, text, named = (tmp_path / n for n in ("a.log", "b.csv", "c.darshan"))
    log.write_bytes(LogWriter(order=">").build())
    text.write_text("time,worker\n")
    named.write_bytes(b"")

    sure = [DarshanSource.detect(p) for p in (log, text, named)]

    assert [d and d.confidence for d in sure] == [1.0, None, 0.5]


def test_hosts_of_dxt_serve_other_modules_of_the_same_rank(harvest_bytes):
    dxt = dxt_record("<", 7, [(0, 1, 0.0, 1.0)], host="nodeA")
    other = struct.pack("<Qq14q15d", 7, 1, *[1] * 14, *[0.0] * 15)
    modules = {"STDIO": (2, STDIO + other), "DXT_POSIX": (1, dxt)}

    found = harvest_bytes(LogWriter(nprocs=2, modules=modules).build())

    assert [r["hostname"] for r in found.rows("darshan.stdio")] == ["nodeA", None]


@pytest.mark.slow
@pytest.mark.parametrize("compress", [zlib.compress, bz2.compress], ids=["zlib", "bzip2"])
@pytest.mark.parametrize("part", ["names", "DXT_POSIX", "POSIX", "STDIO", "HEATMAP", "LUSTRE"])
def test_decompression_bombs_cost_their_module_alone(harvest_bytes, monkeypatch, part, compress):
    # given a region that inflates to 100 MB, where a region may grow 20-fold beyond 1 MB
    monkeypatch.setattr("harvest_darshan.read.regions.RATIO_FREE", 1 << 20)
    bomb = b"\0" * 100_000_000
    kind = "zlib" if compress is zlib.compress else "bzip2"
    modules = {} if part == "names" else {part: (1, bomb)}
    writer = LogWriter(compression=kind, modules=modules)
    if part == "names":
        monkeypatch.setattr(type(writer), "name_map", lambda self: bomb)

    found = harvest_bytes(writer.build(), max_ratio=20)

    assert len(found.rows("darshan.job")) == 1
    assert len(found.rejects) == 1
    assert "inflate to more than" in found.rejects[0].reason


@pytest.mark.slow
def test_bomb_in_the_job_record(harvest_bytes):
    found = harvest_bytes(LogWriter(exe="x" * 50_000_000).build())

    assert found.tables == {}
    assert "inflate to more than" in found.rejects[0].reason


def test_limits_on_a_whole_log(harvest_bytes):
    modules = {"STDIO": (2, STDIO * 40), "POSIX": (4, struct.pack("<Qq86q", 7, 0, *[0] * 86))}
    data = LogWriter(modules=modules).build()

    found = harvest_bytes(data, max_inflated_bytes=10_000)
    assert found.rows("darshan.job")[0]["unread_modules"] == ["STDIO"]

    assert harvest_bytes(data, max_seconds=1e-9).rejects[0].reason.endswith("more than 1e-09 s")


@pytest.mark.slow
def test_a_large_log_is_read_in_bounded_memory(tmp_path):
    # given a million segments of the variant: 96 MB when inflated
    script = """
import sys
from pathlib import Path
from harvest.api.source import ReadContext
from harvest import tables
from harvest_darshan.source import DarshanSource
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
source = DarshanSource(sys.argv[1])
(partition,) = source.plan()
rows, before = 0, None
for kind, table in tables(source, partition, ReadContext(partition.origin, Path("."))):
    if kind.name == "darshan.dxt_segment":
        before = before or peak()
        rows += table.num_rows
    del table
print(rows, peak() - before)
"""
    segment = struct.pack("<qqdd", 1, 2, 3.0, 4.0) + b"pthread_id=5".ljust(64, b"\0")
    head = struct.pack("<Qqq64sqq", 7, 0, 0, b"n", 0, 1_000_000)
    path = tmp_path / "big.darshan"
    writer = LogWriter(modules={"DXT_POSIX": (1, head + segment * 1_000_000)})
    path.write_bytes(writer.build())

    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )

    rows, grown = map(int, done.stdout.split())
    assert rows == 1_000_000
    assert grown < 64
