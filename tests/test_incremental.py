"""However inputs change between runs, a dataset equals a fresh harvest of what is there now.

The histories are those of ``support/histories.py``, each made by its number.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from night import NIGHT

SCRIPT = Path(__file__).parent / "support" / "histories.py"


@pytest.mark.slow
def test_after_each_run_a_dataset_equals_a_fresh_harvest(tmp_path: Path) -> None:
    # in a process of its own: it forks, which one with threads should not do
    count = 100 if NIGHT else 1

    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(count)],
        env={**os.environ, "TMPDIR": str(tmp_path), "POLARS_MAX_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    print(done.stdout)  # with the seed of each
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} histories, {count} equal; wrong: none" in done.stdout
