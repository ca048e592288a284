"""The source ``yappi`` keeps what all sources promise, for both formats that it reads."""

import marshal
from pathlib import Path
from typing import ClassVar

from callgrind_save import CALLGRIND

from harvest_testing import SourceConformance
from harvest_yappi.source import YappiSource


class YappiConformance(SourceConformance):
    source = YappiSource
    without_effect: ClassVar = {
        "look_up_kinds": "the profiled code does not lie where the sample says",
        "max_memory_bytes": "a limit that no small profile reaches",
        "max_seconds": "a limit of time, which small profiles never need",
    }


class TestCallgrind(YappiConformance):
    units = 6

    def sample(self, directory: Path) -> Path:
        path = directory / "run.callgrind"
        path.write_text(CALLGRIND)
        return path

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        return b"\nfn=" not in data  # the header alone: a profile without a function


class TestPstat(YappiConformance):
    def sample(self, directory: Path) -> Path:
        main, work = ("/my code/run.py", 3, "main"), ("/my code/run.py", 9, "work")
        calls = {main: (1, 1, 0.5, 2.0, {}), work: (4, 4, 1.5, 1.5, {main: (4, 4, 1.5, 1.5)})}
        path = directory / "run.pstat"
        path.write_bytes(marshal.dumps(calls))
        return path
