"""The sources ``mofka-dask`` and ``dask`` keep what all sources promise."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

import captures

from harvest_mofka_dask.live.source import DaskSource
from harvest_mofka_dask.source import MofkaDaskSource
from harvest_testing import SourceConformance

RUN = Path(__file__).resolve().parents[3] / "examples/dask-run/D2024-05-06_07:08:09_R1_W4"
FRAME_ROWS = 1_000
"""How often a busy run's frame has the rows of the example's."""

SHOWN = 25
"""Lines of each file of the example, so that damaging each of them takes a moment."""


class TestMofkaDask(SourceConformance):
    source = MofkaDaskSource
    examples: ClassVar = {"timezone": "Asia/Tokyo"}
    counted: ClassVar = {
        "other output of the job": 8,
        "blank line": 1,
        "blank or comment line": 6,
        "continuation line": 2,
        "command of the script": 15,
        "repeated transfer": 9,
    }
    names_matter = True
    blocks: ClassVar = {
        "harvest_toolkit.delimited:BLOCK_BYTES": (64, 500),
        "harvest_toolkit.lines:BLOCK_BYTES": (64, 500),
    }

    def sample(self, directory: Path) -> Path:
        run = directory / RUN.name
        run.mkdir()
        for path in sorted(RUN.iterdir()):
            lines = path.read_bytes().splitlines(keepends=True)
            (run / path.name).write_bytes(b"".join(lines[:SHOWN]))
            shutil.copystat(path, run / path.name)
        return run


class TestDask(SourceConformance):
    source = DaskSource
    counted: ClassVar = {
        "frame about the process, in its row of dask.process": 6,
        "frame without rows": 1,
        "frame cut off where the file ends, in its process's cut_bytes": 1,
    }
    names_matter = True
    blocks: ClassVar = {"harvest_mofka_dask.live.reader:GATHERED_ROWS": (1, 3)}

    def sample(self, directory: Path) -> Path:
        # a worker that was killed while it wrote, beside a scheduler that recorded all kinds
        run = captures.write(directory / "R1", captures.example())
        killed = run / "worker-node2-9.cap"
        killed.write_bytes(killed.read_bytes()[:-9])
        return run

    def enlarge(self, directory: Path, times: int) -> Path:
        full = {name: list(map(filled, c)) for name, c in captures.example().items()}
        files = {name: captures.again(contents, times) for name, contents in full.items()}
        return captures.write(directory / "R1", files)


def filled(content: Any) -> Any:
    """A frame as a busy run writes it, with very many rows: reading a frame takes a while."""
    if "columns" not in content:
        return content
    columns = {name: values * FRAME_ROWS for name, values in content["columns"].items()}
    return {**content, "n": content["n"] * FRAME_ROWS, "columns": columns}
