"""The exporter ``ro-crate`` keeps what all exporters promise."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

import harvest

testing = pytest.importorskip("harvest_testing", reason="hpc-harvest-testing is not installed")


class TestCrate(testing.ExporterConformance):
    exporter = "ro-crate"
    deterministic = False  # it says when it was made
    settings: ClassVar = {"license": "CC-BY-4.0"}

    def dataset(self, directory: Path, inputs: int) -> harvest.Dataset:
        """Two jobs of each input, and a line that cannot be read."""
        for module in ("harvest_slurm", "harvest_parquet"):
            pytest.importorskip(module)
        table = "JobID|State|User\n1|COMPLETED|ada\n2|FAILED|tim\n?|?\n"
        for number in range(inputs):
            (directory / f"sacct {number}.txt").write_text(table)
        harvest.run(f"slurm:{directory}", f"parquet:{directory / 'out'}", workers=1)
        return harvest.open(directory / "out")
