"""The source ``ncem`` keeps what all sources promise."""

import json
import os
from pathlib import Path
from typing import ClassVar

from harvest_ncem.source import NcemSource
from harvest_testing import SourceConformance


class TestDirectory(SourceConformance):
    source = NcemSource
    examples: ClassVar = {"clock_offset": {"1": "-27ms"}}
    without_effect: ClassVar = {"timezone": "the times of the sample have a zone"}
    counted: ClassVar = {"not a receiver status, data, log or HDF5 file, nor a table of them": 1}
    units = 4
    names_matter = True
    existence_is_a_row = True

    def sample(self, directory: Path) -> Path:
        for receiver in (0, 1):
            status = {
                "time": "2023-10-16T15:30:41.250000+00:00",
                "last_scan_number": 12,
                "progress": 100.0,
                "UUID": "0a1b2c3d-0001-4000-8000-00000000000f",
                "note": "Zürich",
            }
            path = directory / f"4dstem_rec_status_{receiver}_scan_12.json"
            path.write_text(json.dumps(status))
        for name in ("data_scan0000000012_module3.data", "notes.txt"):
            (directory / name).write_bytes(b"abc")
            os.utime(directory / name, ns=(0, 1_697_470_245_123_456_000))
        return directory


class TestTable(SourceConformance):
    source = NcemSource
    examples: ClassVar = {"clock_offset": {"0": "-27ms"}}
    without_effect: ClassVar = {"timezone": "the times of the sample have a zone"}
    counted: ClassVar = {"receiver or file without a time": 1}
    blocks: ClassVar = {"harvest_toolkit.delimited:BLOCK_BYTES": (1, 7, 40)}

    def sample(self, directory: Path) -> Path:
        path = directory / "receivers.csv"
        path.write_text(
            "scan_number,time0,time1\n"
            "11,2023-10-16T15:30:41.250000+00:00,2023-10-16T15:30:42+00:00\n"
            "12,2023-10-16T15:31:41.250000+00:00,\n"
            "thirteen,2023-10-16T15:32:41+00:00,2023-10-16T15:32:42+00:00\n"
        )
        return path

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        return data.count(b"\n") < 2 and data.startswith(b"scan_number,")  # the header alone
