"""The source ``dask`` keeps what all sources promise."""

import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import captures
import pytest

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


READING = """
import sys, tempfile
from pathlib import Path
import harvest
from harvest_dask.records.captures.source import DaskSource
source = DaskSource(sys.argv[1])
for partition in source.plan():
    with tempfile.TemporaryDirectory() as scratch:
        ctx = harvest.ReadContext(partition.origin, Path(scratch), on_reject=lambda reject: None)
        for _ in harvest.tables(source, partition, ctx):
            pass
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_capture(tmp_path):
    def peak_kib(times: int) -> int:
        """The most memory that a process held which read a run of so many frames of each kind."""
        full = {name: list(map(filled, c)) for name, c in captures.example().items()}
        files = {name: captures.again(contents, times) for name, contents in full.items()}
        run = captures.write(tmp_path / f"R{times}", files)
        said = subprocess.run([sys.executable, "-c", READING, run], capture_output=True, check=True)
        print(times, sum(path.stat().st_size for path in run.iterdir()), said.stdout)
        return int(said.stdout)

    few = peak_kib(10)

    assert peak_kib(40) - few < 12 * 1024  # its tables are larger than 50 MiB


def filled(content: Any) -> Any:
    """A frame as a busy run writes it, with very many rows: reading a frame takes a while."""
    if "columns" not in content:
        return content
    columns = {name: values * FRAME_ROWS for name, values in content["columns"].items()}
    return {**content, "n": content["n"] * FRAME_ROWS, "columns": columns}
