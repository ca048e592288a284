"""Helpers beside these tests, and the reader of sacct's dumps, can be imported by their names."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "slurm" / "tests")]
