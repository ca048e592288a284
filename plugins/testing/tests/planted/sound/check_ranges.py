"""The source planted-ranges, and what every source promises."""

from pathlib import Path
from typing import ClassVar

from planted_ranges import RangesSource

from harvest_testing import SourceConformance

HEADER = "time,host,size,seconds,Comment\n"
LINES = (
    "1772352000.250001,n1,4096,0.5,first\n"
    '1772352001,n2,9007199254740993,,"one, two"\n'
    "1772352002.5,n1,,1.5,Zürich\n"
    "1772352003,n3,many,1,\n"
    "1772352004,n4,0,0,\n"
)


class TestRanges(SourceConformance):
    source = RangesSource
    units = 6 + 4
    header_lines = 1
    counted: ClassVar = {"header": 2, "fewer bytes": 0}
    examples: ClassVar = {"least_bytes": 100}
    partition_setting = ("partition_bytes", (60, 100, 1 << 30))

    def sample(self, directory: Path) -> Path:
        (directory / "a.csv").write_text(HEADER + LINES)
        (directory / "b.csv").write_text(
            HEADER + "".join(LINES.replace("17723", "17724").splitlines(True)[:3])
        )
        return directory

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        return data.count(b"\n") < 2 and data.startswith(b"time,")  # the header alone
