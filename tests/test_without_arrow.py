"""A run that has nothing to read does not import what reads and writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUN = """
import sys
from harvest.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print(*(name for name in ("numpy", "pyarrow", "polars", "duckdb") if name in sys.modules))
"""


def ran(scan: Path, dataset: Path) -> list[str]:
    """A run in a process of its own: which of the large libraries it imported."""
    arguments = ["run", "-s", f"gpfs:{scan}", "-k", f"parquet:{dataset}", "--workers", "1"]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def test_a_run_with_nothing_new_imports_no_arrow(tmp_path: Path) -> None:
    scan = tmp_path / "scan.list"
    scan.write_text("1 2 0  |size=5|kballoc=0|uid=7|gid=8|pool=data| -- /gpfs/a\n")

    first, second = ran(scan, tmp_path / "out"), ran(scan, tmp_path / "out")

    assert "pyarrow" in first
    assert second == []
