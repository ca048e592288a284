"""The source ``slurm`` keeps what all sources promise, for text and for JSON."""

import json
from pathlib import Path
from typing import ClassVar

import yaml

from harvest_slurm.source import SlurmSource
from harvest_testing import SourceConformance

COLUMNS = "JobID|JobName|User|State|ExitCode|Submit|Start|End|Elapsed|ReqMem|AllocTRES|Comment"
TIMES = "2024-05-01T10:00:00|2024-05-01T10:00:01|2024-05-01T10:00:06|00:00:05"
JOB = f"{{0}}|{{1}}|ann|COMPLETED|0:0|{TIMES}|4000M|cpu=1,mem=4G|"
STEP = f"{{0}}.batch|batch||COMPLETED|0:0|{TIMES}||cpu=1|"


class SlurmConformance(SourceConformance):
    source = SlurmSource
    examples: ClassVar = {
        "cluster": "larch",
        "name_contains": "plain",
        "exit_code": "1",
        "started": "false",
        "users": "bob",
        "states": "failed",
    }
    without_effect: ClassVar = {
        **dict.fromkeys(("columns", "layout"), "the sample names its columns"),
        **dict.fromkeys(("qos_contains", "req_nodes"), "the sample says nothing of it"),
        **dict.fromkeys(("since", "until", "slice_days", "sacct"), "for slurm:live alone"),
    }


class TestText(SlurmConformance):
    settings: ClassVar = {"timezone": "Europe/Zurich"}
    units = 6
    counted: ClassVar = {"repeated header": 0}
    examples: ClassVar = {
        **SlurmConformance.examples,
        "timezone": "Asia/Tokyo",
        "delimiter": ",",
    }
    blocks: ClassVar = {"harvest_slurm.read.text:read_text.block_bytes": (100, 700)}

    def sample(self, directory: Path) -> Path:
        path = directory / "sacct.txt"
        rows = [JOB.format(1, "plain"), STEP.format(1), JOB.format(2, "Zürich | two")]
        rows += [STEP.format(2), JOB.format(3, "late"), "4|cut off"]
        path.write_text("\n".join([COLUMNS, *rows, ""]))
        return path

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        return data.count(b"\n") < 2 and data.startswith(b"JobID|")  # the header alone


class TestJson(SlurmConformance):
    units = 3
    without_effect: ClassVar = {
        **SlurmConformance.without_effect,
        "timezone": "times of JSON are seconds since the epoch",
        "delimiter": "JSON has none",
    }
    blocks: ClassVar = {"harvest_toolkit.json_pieces:BLOCK_BYTES": (1, 50)}

    def sample(self, directory: Path) -> Path:
        times = {"elapsed": 60, "submission": 1700000000, "start": 1700000100, "end": 1700000160}
        jobs = [
            {"job_id": number, "name": "Zürich", "user": "ann", "time": times,
             "state": {"current": "COMPLETED", "reason": "None"}, "steps": []}
            for number in (1, 2)
        ]  # fmt: skip
        path = directory / "sacct.json"
        path.write_text(json.dumps({"meta": {}, "jobs": [*jobs, {"name": "without an id"}]}))
        return path


class TestYaml(TestJson):
    without_effect: ClassVar = {**TestJson.without_effect, "delimiter": "YAML has none"}

    def sample(self, directory: Path) -> Path:
        whole = super().sample(directory)
        path = directory / "sacct.yaml"
        path.write_text(yaml.safe_dump(json.loads(whole.read_text())))
        whole.unlink()
        return path
