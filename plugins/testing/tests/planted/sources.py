"""The sound sources in which bugs are planted, each with what its author would give to the kit."""

from __future__ import annotations

import gzip
import importlib
import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import attrs

from harvest_testing import SourceConformance
from harvest_testing.scaffold import scaffold

HERE = Path(__file__).parent
NODE = HERE.parents[3] / "examples/plugins/harvest-node-exporter"
EVENTS = """\
1714557600123\tinfo\tgood morning
1714557601456\tdebug\tdetails\tof Zürich
1714557602789\terror\tit broke
not an event
1714557603000\tinfo\tgood night
"""


class Columnar(SourceConformance):
    units = 8
    header_lines = 0
    examples: ClassVar = {"least": "error"}
    known_rows: ClassVar = {
        ("planted.event", 1): {
            "time": datetime(2024, 5, 1, 10, 0, 0, 123_000, tzinfo=UTC),
            "level": "info",
            "text": "good morning",
        },
        ("planted.event", 2): {"text": "details\tof Zürich"},
    }

    def sample(self, directory: Path) -> Path:
        (directory / "a.tsv").write_text(EVENTS)
        (directory / "b.tsv").write_text("".join(EVENTS.splitlines(keepends=True)[2:]))
        return directory

    def enlarge(self, directory: Path, times: int) -> Path:
        path = directory / "a.tsv"
        path.write_text(f"1714557600123\tinfo\t{'x' * 400}\n" * 1000 * times)
        return path


class Packed(SourceConformance):
    examples: ClassVar = {"least": "error"}

    def sample(self, directory: Path) -> Path:
        path = directory / "a.tsv.gz"
        path.write_bytes(gzip.compress((EVENTS * 40).encode(), mtime=0))
        return path


TASKS = [
    {"task": 2**53 + 1, "time": "2024-05-01T10:00:00+02:00", "name": "", "cores": 4},
    {"task": 7, "time": "2024-05-01T10:00:00", "name": None},
    {"task": 8, "time": "2024-05-01T10:00:01.5Z"},
    {"task": "eight"},
    {"task": 9, "time": "2024-05-01T10:00:02Z", "name": "mend", "tags": ["a", "ü"]},
]


class Tasks(SourceConformance):
    units = 6
    header_lines = 0
    examples: ClassVar = {"timezone": "Asia/Tokyo", "names": "mend"}
    known_rows: ClassVar = {
        ("planted.task", 1): {"id": 2**53 + 1, "name": "", "extra": {"cores": "4"}},
        ("planted.task", 2): {"time": datetime(2024, 5, 1, 10, tzinfo=UTC), "name": None},
        ("planted.task", 3): {"name": "eighth"},
    }

    def sample(self, directory: Path) -> Path:
        lines = [json.dumps(task, ensure_ascii=False) + "\n" for task in TASKS]
        (directory / "a.jsonl").write_text("".join(lines))
        (directory / "a.names").write_text("8=eighth\n9=ninth\n")
        (directory / "b.jsonl").write_text(lines[4])
        return directory


class Ranges(SourceConformance):
    units = 6
    header_lines = 0
    partition_setting = ("range_bytes", (1 << 26, 1, 7, 16, 40))
    known_rows: ClassVar = {("planted.reading", 2): {"name": "load", "value": 0.25}}

    def sample(self, directory: Path) -> Path:
        path = directory / "readings.txt"
        path.write_text("heat 21.5\nload 0.25\nno reading here\nwind 3\nZürich 8\nrain 0\n")
        return path


class Node(SourceConformance):
    units = 18
    header_lines = 0
    counted: ClassVar = {"HELP or TYPE line": 6, "comment or empty line": 2}

    def sample(self, directory: Path) -> Path:
        return Path(shutil.copy2(NODE / "tests/data/node.prom", directory))


class Scaffold(SourceConformance):
    units = 3
    header_lines = 0
    examples: ClassVar = {"name": "pressure"}

    def sample(self, directory: Path) -> Path:
        path = directory / "sample.planted"
        path.write_text(
            "2024-04-19T19:01:00+00:00 temperature 21.5\n"
            "2024-04-19T19:01:01+00:00 pressure 1013\nnot a measurement\n"
        )
        return path


@attrs.frozen
class Planting:
    """Where the code of a sound source is, and its class."""

    kit: type[SourceConformance]
    cls: str
    file: str


PLANTINGS = {
    "columnar": Planting(Columnar, "ColumnarSource", "columnar.py"),
    "packed": Planting(Packed, "ColumnarSource", "columnar.py"),
    "tasks": Planting(Tasks, "TaskSource", "json_lines.py"),
    "ranges": Planting(Ranges, "RangeSource", "ranges.py"),
    "node": Planting(Node, "NodeExporterSource", "source.py"),
    "scaffold": Planting(Scaffold, "PlantedSource", "source.py"),
}


def plant(where: str, folder: Path, package: str, changes: Sequence[tuple[str, str]] = ()) -> Any:
    """A kit for a source of its own package, whose code has some texts replaced.

    folder: on the module path; package: a name that no other has.
    """
    planting = PLANTINGS[where]
    home = folder / package
    if where == "node":
        shutil.copytree(NODE / "src/harvest_node_exporter", home)
    elif where == "scaffold":
        scaffold("planted", ["source"], folder / f"{package}-project")
        project = folder / f"{package}-project/harvest-planted"
        shutil.copytree(project / "src/harvest_planted", home)
    else:
        home.mkdir()
        (home / "__init__.py").touch()
        shutil.copy2(HERE / planting.file, home)
    path = home / planting.file
    code = path.read_text()
    for old, new in changes:
        if code.count(old) != 1:
            raise ValueError(f"{old!r} is {code.count(old)} times in {planting.file}")
        code = code.replace(old, new)
    path.write_text(code)
    importlib.invalidate_caches()
    module = importlib.import_module(f"{package}.{path.stem}")
    return type(planting.kit.__name__, (planting.kit,), {"source": getattr(module, planting.cls)})()
