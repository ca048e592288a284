"""Kinds of columns, and that declaring them loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

from harvest import Column, columns


def test_a_kind_of_column_sets_its_unit_and_format() -> None:
    assert columns.seconds("wall_s", doc="How long it took.") == Column(
        "wall_s", unit="s", format="seconds", doc="How long it took.", type=float
    )
    assert columns.hours("gpu_hours", unit="GPU h").heading == "gpu_hours (GPU h)"


def test_a_module_that_declares_columns_loads_no_library_of_frames() -> None:
    code = (
        "import sys, harvest.columns; "
        "print(sorted({'polars', 'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
