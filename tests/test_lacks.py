"""Where files, threads or memory run out, that is said, and no plugin is blamed for it."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from harvest.errors import HarvestError, lack_of
from harvest.plugin_code import contained

JOBS = """\
JobID|State|Elapsed|AllocCPUS
1|COMPLETED|00:10:00|2
"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pl.exceptions.ComputeError("Too many open files (os error 24)"), OSError),
        (pl.exceptions.PanicException("memory allocation of 800 bytes failed"), MemoryError),
        (pa.ArrowException("Failed to launch worker thread: Resource temporarily unavailable"),
         HarvestError),
        (RuntimeError("can't start new thread"), HarvestError),
        (ImportError("libx.so: failed to map segment from shared object"), MemoryError),
        (NameError("name 'PySeries' is not defined"), HarvestError),
    ],
)  # fmt: skip
def test_what_a_library_lacks_is_no_fault_of_who_called_it(error, kind):
    with pytest.raises(kind), contained():
        raise error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("the field says: Too many open files"),
        pl.exceptions.ComputeError("could not parse `x`"),
        NameError("name 'column' is not defined"),
        RuntimeError("Set changed size during iteration"),
    ],
)
def test_other_errors_are_what_they_are(error):
    assert lack_of(error) is None


class Unspeakable(Exception):
    """An error of an author whose text cannot be made."""

    def __str__(self) -> str:
        raise AssertionError("the text was asked for")


def test_only_the_text_of_a_library_s_error_is_read():
    assert lack_of(Unspeakable()) is None


def test_a_run_that_may_open_few_files_says_so(tmp_path: Path):
    pytest.importorskip("harvest_slurm")
    (tmp_path / "jobs.txt").write_text(JOBS)
    words = ("run", "-s", f"slurm:{tmp_path / 'jobs.txt'}", "-k", f"parquet:{tmp_path / 'out'}")

    done = subprocess.run(
        [sys.executable, "-m", "harvest", *words, "--workers", "1"],
        capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)),
    )  # fmt: skip

    said = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1, done.stderr
    assert "too many open files: this process may have 10 open at a time" in said
    assert "author" not in said
