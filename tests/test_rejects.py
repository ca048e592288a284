"""Rejects as they are kept beside the rows."""

import json
from pathlib import Path

import pytest
from commands import harvest_alone, python_alone

import harvest
from harvest.api.source import Reject
from harvest.storage.rejects import RejectWriter, read_rejects

THREADS = """
import os, sys
from pathlib import Path
from harvest.storage.rejects import read_rejects
before = len(os.listdir("/proc/self/task"))
rows = sum(1 for _ in read_rejects(Path(sys.argv[1])))
print(rows, len(os.listdir("/proc/self/task")) - before)
"""


@pytest.fixture
def kept(tmp_path) -> Path:
    """A file of as many rejects as take several row groups."""
    writer = RejectWriter(tmp_path / "rejects.parquet", "mine")
    for number in range(10_000):
        writer.add(Reject("a.txt", number + 1, b"\xff" * 100, "not text"))
    assert writer.close()
    return tmp_path / "rejects.parquet"


def test_rejects_come_back_in_order(kept):
    found = list(read_rejects(kept))

    assert [row["position"] for row in found] == list(range(1, 10_001))
    assert {(row["source"], row["raw"], row["reason"]) for row in found} == {
        ("mine", b"\xff" * 100, "not text")
    }


def test_rejects_are_read_in_part_and_printed(tmp_path):
    lines = ["JobID|JobName|State", "no job", "nor this"]
    (tmp_path / "sacct.txt").write_text("".join(f"{line}\n" for line in lines))
    harvest.run(f"slurm:{tmp_path / 'sacct.txt'}", f"jsonl:{tmp_path / 'out'}")

    rejects = harvest.open(tmp_path / "out").rejects()
    assert next(rejects)["position"] == 2
    rejects.close()

    assert list(rejects) == []
    printed = harvest_alone("rejects", tmp_path / "out", "--json").stdout.splitlines()
    assert [json.loads(line)["raw"] for line in printed] == lines[1:]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's list of threads")
def test_reading_rejects_starts_no_thread_that_could_outlive_the_interpreter(kept):
    """A thread of Arrow that lets go of a Python object at the end aborts the process."""
    done = python_alone(THREADS, kept)

    assert done.stdout.split() == ["10000", "0"]
