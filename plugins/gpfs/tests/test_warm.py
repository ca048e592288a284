"""The compiled kernel is loaded once, for the processes that are forked afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from policy_lists import STYLES, listing, row

from harvest import file_partition
from harvest.toolkit import compiled
from harvest_gpfs.config import GpfsConfig
from harvest_gpfs.source import GpfsSource

pytestmark = pytest.mark.skipif(not compiled.available(), reason="numba is not installed")

QUIET = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "OPENBLAS_NUM_THREADS": "1"}

LOAD_AND_READ = """
import os, sys
from harvest_gpfs import warm
threads = len(os.listdir("/proc/self/task"))
from harvest.testing import collect
from harvest_gpfs.config import GpfsConfig
from harvest_gpfs.source import GpfsSource
rows = [collect(GpfsSource(scan, GpfsConfig(kernel="numba"))).written for scan in sys.argv[1:]]
print(threads, int("numba" in sys.modules), *rows)
"""


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    path = tmp_path / "scan.list"
    path.write_bytes(listing([row(inode=number) for number in range(5)], "uab", "pct"))
    return path


def test_it_is_loaded_where_the_kernel_reads(scan: Path) -> None:
    partition = file_partition(scan, id="scan.list")

    def named(kernel: str) -> list[str]:
        return list(GpfsSource(str(scan), GpfsConfig(kernel=kernel)).modules(partition))

    assert "harvest_gpfs.warm" in named("numba")
    assert "harvest_gpfs.warm" not in named("auto")  # so few bytes do not repay it
    assert "harvest_gpfs.columnar" in named("arrow")


def test_loading_it_starts_no_thread_and_every_list_is_read_without_numba(tmp_path: Path) -> None:
    """A fork copies one thread alone; and numba takes half a second of every process."""
    scans = []
    for style in STYLES:
        scans.append(tmp_path / f"{style}.list")
        scans[-1].write_bytes(listing([row(inode=n) for n in range(5)], style, "pct"))
    subprocess.run([sys.executable, "-c", "import harvest_gpfs.warm"], check=True)  # is kept now

    done = subprocess.run(
        [sys.executable, "-c", LOAD_AND_READ, *map(str, scans)],
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    threads, with_numba, *rows = map(int, done.stdout.split())
    assert (threads, with_numba, rows) == (1, 0, [5] * len(STYLES))
