"""Commands and workers do not pay for pandas, and whoever uses pandas does not notice."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pandas")


def printed_by(code: str) -> str:
    """What a process of its own prints; in this one, others have imported pandas long ago."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_arrays_are_made_without_pandas():
    code = (
        "import sys, harvest.model.arrow, pyarrow as pa\n"
        "pa.array([1]), pa.table({'a': [1]})\n"
        "print('pandas' in sys.modules)"
    )
    assert printed_by(code) == "False"


SERIES = "pa.array(pd.Series([1.0, float('nan')])).null_count"  # pyarrow takes its NaN for null


@pytest.mark.parametrize("first", ["harvest.model.arrow", "pandas"])
def test_pandas_objects_are_known_once_pandas_is_imported(first):
    code = (
        f"import {first}, harvest.model.arrow, pyarrow as pa\n"
        "pa.array([1])\n"
        "import pandas as pd\n"
        f"print({SERIES}, len(pa.table(pd.DataFrame({{'a': [1]}})).to_pandas()))"
    )
    assert printed_by(code) == "1 1"


def test_a_frame_can_be_asked_for_without_importing_pandas_first():
    code = (
        "import harvest.model.arrow, pyarrow as pa\n"
        "frame = pa.table({'a': [1, 2]}).to_pandas()\n"
        f"import pandas as pd; print(len(frame), {SERIES})"
    )
    assert printed_by(code) == "2 1"
