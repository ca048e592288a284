"""The source planted-stations, and what every source promises."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from planted_stations import StationsSource

from harvest_testing import SourceConformance

HEADER = "time,quantity,value,unit\n"
DAY = (
    "2026-03-0{0}T08:00:00+00:00,temperature,-3.5,degC\n"
    "2026-03-0{0}T08:00:00.125001+01:00,wind,,\n"
    "2026-03-0{0}T08:10:00+00:00,snow,much,cm\n"
    '2026-03-0{0}T08:20:00+00:00,"rain, or sleet",0.25,mm\n'
)


class TestStations(SourceConformance):
    source = StationsSource
    units = 12
    counted: ClassVar = {"empty line": 0}
    examples: ClassVar = {"quantity": "wind"}
    without_effect: ClassVar = {"folders": "it says which files are read, and so how many units"}
    blocks: ClassVar = {"harvest_toolkit.delimited:BLOCK_BYTES": (1, 7, 60)}
    names_matter = True  # the directory's name is the station's

    def sample(self, directory: Path) -> Path:
        for name in ("peak", "valley"):
            (directory / name).mkdir()
            (directory / name / "day1.csv").write_text(HEADER + DAY.format(1))
        (directory / "peak" / "day2.csv").write_text(HEADER + DAY.format(2))
        (directory / "peak" / "station.json").write_text('{"site": "Säntis"}')
        return directory

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        return path.suffix != ".csv" or (data.count(b"\n") < 2 and data.startswith(b"time,"))
