"""The source ``darshan`` keeps what all sources promise."""

from pathlib import Path
from typing import ClassVar

from darshan_logs import STDIO, LogWriter, dxt_record

from harvest_darshan.source import DarshanSource
from harvest_testing import SourceConformance

TRACED = dxt_record("<", 7, [(0, 1, 0.0, 1.0), (1, 4096, 1.0, 1.5)])
LOG = LogWriter(modules={"STDIO": (2, STDIO), "DXT_POSIX": (1, TRACED)}).build()


class TestDarshan(SourceConformance):
    source = DarshanSource
    examples: ClassVar = {"max_inflated_bytes": 100}
    without_effect: ClassVar = {
        "max_ratio": "a limit of regions over 64 MiB",
        "max_seconds": "a limit of time, which small logs never need",
    }
    names_matter = True  # a log's name has the process id of its writer

    def sample(self, directory: Path) -> Path:
        (directory / "deeper").mkdir()
        (directory / "u_a.out_id4711-815_11-14-1-2_1.darshan").write_bytes(LOG)
        (directory / "deeper/u_b.out_id4712-9_11-14-1-2_1.darshan").write_bytes(LOG)
        return directory
