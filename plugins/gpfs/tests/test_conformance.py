"""The source ``gpfs`` keeps what all sources promise."""

import gzip
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from harvest_gpfs.source import GpfsSource
from harvest_testing import SourceConformance

SHOW = (
    "|size={1}|kballoc=16|access=2026-01-10 08:15:00.000000|create=2026-01-01 00:00:01.5"
    "|modify=2026-01-09 23:59:59.999999|uid=1000|gid=100|heat=0.25|pool=system|misc=FA|"
)
LINE = "{0} 7 0  " + quote(SHOW, safe="/{}") + " -- /gpfs/fs1/a%20dir/file%2D{0}%FF\n"


class TestGpfs(SourceConformance):
    source = GpfsSource
    examples: ClassVar = {
        "show": "{FILE_SIZE} {ACCESS_TIME}",
        "keys": "heat=extra",
        "escape": "none",
        "scan_time": "2026-01-11T00:00:00+00:00",
    }
    header_lines = 0
    partition_setting = ("partition_bytes", (1 << 20, 4096))

    def sample(self, directory: Path) -> Path:
        path = directory / "scan.list"
        lines = [LINE.format(number, number * 1000) for number in range(1, 60)]
        lines.insert(30, "this is no line of a policy list\n")
        path.write_text("".join(lines))
        (directory / "old.list.gz").write_bytes(gzip.compress(path.read_bytes()))
        return directory
