"""The source ``pbs`` keeps what all sources promise, for logs and for JSON."""

import json
from pathlib import Path
from typing import ClassVar

from pbs_logs import ABOUT, ended, line, started

from harvest_pbs.runs import LATER, WHOLE_ARRAY
from harvest_pbs.source import PbsSource
from harvest_testing import SourceConformance


class PbsConformance(SourceConformance):
    source = PbsSource
    examples: ClassVar = {"timezone": "Asia/Tokyo"}
    without_effect: ClassVar = dict.fromkeys(("qstat", "timeout_s"), "for pbs:live alone")


class TestLog(PbsConformance):
    units = 14
    counted: ClassVar = {"empty line": 1, LATER: 2, WHOLE_ARRAY: 0}
    blocks: ClassVar = {"harvest_toolkit.lines:BLOCK_BYTES": (400, 900)}

    def sample(self, directory: Path) -> Path:
        path = directory / "20260302"
        records = [
            line("Q", "1.pbs01", f"{ABOUT} project=höhe_3 "),
            started("1.pbs01"),
            "",
            line("D", "2.pbs01", "requestor=bob@login1"),
            line("L", "license", "floating license hour:3 day:5 month:9 max:12"),
            ended("1.pbs01"),
            ended("3[4].pbs01", 271, more="resources_used.site=a b "),
            line("Q", "4.pbs01", "user=ann user=bob"),
            line("Q", "5.pbs01", ABOUT),
        ]
        path.write_text("\n".join([*records, ""]))
        return path

    def add_field(self, path: Path, data: bytes, name: str, value: str) -> bytes:
        lines = data.decode().splitlines()
        more = [f"{each} {name}={value}" if ";E;" in each else each for each in lines]
        return "\n".join([*more, ""]).encode()


class TestQstat(PbsConformance):
    units = 3
    blocks: ClassVar = {"harvest_pbs.qstat:BLOCK_BYTES": (1, 50)}

    def sample(self, directory: Path) -> Path:
        run = {
            "Job_Name": "Zürich", "Job_Owner": "ann@login1", "queue": "workq", "job_state": "F",
            "ctime": "Wed Apr 14 23:34:17 2021", "stime": "Wed Apr 14 23:34:19 2021",
            "obittime": "Wed Apr 14 23:35:19 2021", "Exit_status": 0,
            "resources_used": {"walltime": "00:01:00", "mem": "7060kb"},
            "Resource_List": {"ncpus": 5, "select": "5:ncpus=1"},
        }  # fmt: skip
        jobs = {"7.pbs01": run, "8[3].pbs01": {**run, "Exit_status": 271}}
        text = json.dumps(
            {"timestamp": 1, "pbs_version": "20", "pbs_server": "pbs01", "Jobs": jobs}, indent=4
        )
        path = directory / "qstat.json"
        broken = '"9.pbs01": {"Job_Name": 005}'
        path.write_text(text.replace("\n    }\n}", f",\n        {broken}\n    }}\n}}"))
        return path

    def add_field(self, path: Path, data: bytes, name: str, value: str) -> bytes:
        return data.replace(b'"queue"', f'"{name}": "{value}", "queue"'.encode())

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        return b'"Jobs"' not in data
