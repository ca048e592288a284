"""The source ``mofka-dask`` keeps what all sources promise."""

import shutil
from pathlib import Path
from typing import ClassVar

from scripts import run_script

from harvest_mofka_dask.source import MofkaDaskSource
from harvest_testing import SourceConformance

RUN = Path(__file__).resolve().parents[3] / "examples/dask-run/D2024-05-06_07:08:09_R1_W4"
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
        "directive behind the first command, which the batch system ignores": 0,
        "repeated host": 0,
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


def test_a_script_makes_the_files_of_the_example(tmp_path):
    run_script(RUN.parents[1] / "make_run.py", tmp_path)
    made, shipped = (
        {path.name: path.read_bytes() for path in folder.iterdir()}
        for folder in (tmp_path / RUN.name, RUN)
    )
    assert made == shipped
