"""The source ``dask`` keeps what all sources promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import captures

from harvest_dask.records.captures.source import DaskSource
from harvest_testing import SourceConformance

FRAME_ROWS = 1_000
"""How often a busy run's frame has the rows of the example's."""


class TestDask(SourceConformance):
    source = DaskSource
    counted: ClassVar = {
        "frame about the process, in its row of dask.process": 6,
        "frame without rows": 1,
        "frame cut off where the file ends, in its process's cut_bytes": 1,
    }
    names_matter = True
    blocks: ClassVar = {"harvest_dask.records.captures.reader:GATHERED_ROWS": (1, 3)}

    def sample(self, directory: Path) -> Path:
        # a worker that was killed while it wrote, beside a scheduler that recorded all kinds
        run = captures.write(directory / "R1", captures.example())
        killed = run / "worker-node2-9.cap"
        killed.write_bytes(killed.read_bytes()[:-9])
        return run


def filled(content: Any) -> Any:
    """A frame as a busy run writes it, with very many rows: reading a frame takes a while."""
    if "columns" not in content:
        return content
    columns = {name: values * FRAME_ROWS for name, values in content["columns"].items()}
    return {**content, "n": content["n"] * FRAME_ROWS, "columns": columns}
