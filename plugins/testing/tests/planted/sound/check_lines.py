"""The source planted-lines, and what every source promises."""

from pathlib import Path
from typing import ClassVar

from planted_lines import LinesSource

from harvest_testing import SourceConformance

FIRST = """\
# device 7, calibrated 2026-01-09
2026-03-01T08:00:00+00:00\ttemperature\t21.5\t10\t-
2026-03-01T08:00:01.250001+00:00\tpressure\t1013\t9007199254740993\tdoor open
2026-03-01T09:00:00+01:00\ttemperature\t-\t-\tZürich
no measurement
2026-03-01T10:00:00\thumidity\t0.25\t3\t
"""
SECOND = """\
2026-03-02T08:00:00+00:00\ttemperature\t19\t10\t-
2026-03-02T08:00:01+00:00\tpressure\thigh\t10\t-
"""


class TestLines(SourceConformance):
    source = LinesSource
    units = 8
    header_lines = 0
    counted: ClassVar = {"comment": 1}
    examples: ClassVar = {"name": "pressure", "timezone": "America/New_York"}

    def sample(self, directory: Path) -> Path:
        (directory / "first.lines").write_text(FIRST)
        (directory / "second.lines").write_text(SECOND)
        return directory
