"""The source ``distiller`` keeps what all sources promise."""

from pathlib import Path
from typing import ClassVar

from harvest_distiller.source import DistillerSource
from harvest_testing import SourceConformance


class TestDistiller(SourceConformance):
    source = DistillerSource
    units = 5
    examples: ClassVar = {"scan_size": "256x256"}
    without_effect: ClassVar = {"connect_timeout": "a file is not connected to"}
    counted: ClassVar = {"blank line": 1}
    names_matter = True  # a file's name gives the scan size
    blocks: ClassVar = {"harvest_toolkit.delimited:BLOCK_BYTES": (1, 7, 40)}

    def sample(self, directory: Path) -> Path:
        path = directory / "128_128.csv"
        path.write_text(
            "id,slurm_id,elapsed,user\n"
            "1930,58250603,00:04:19,Ann\n"
            "1931,58248564.0,0 days 00:19:38,Zoë\n"
            "1932,,,\n"
            "soon,1,00:00:01,Ann\n"
            "\n"
        )
        return path

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        return data.count(b"\n") < 2 and data.startswith(b"id,")  # the header alone
