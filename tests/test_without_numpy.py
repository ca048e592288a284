"""The core and its sinks need no numpy."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUMERIC = ("numpy", "pandas")
"""What is numpy, or imports it."""

PROGRAM = '''
import importlib.util, sys
from importlib.metadata import EntryPoint
from pathlib import Path

import polars as pl

import harvest
from harvest_look.files import export
from harvest.plugins.registry import PluginManager
from harvest import collect
from harvest.toolkit.frames import TEXT_MAP

@harvest.record("greeting.line", layer="workflow", level="client")
class Line(harvest.Record):
    """One line of a greeting file."""
    text: str = harvest.field(role="subject", doc="The line.")
    tags: dict[str, str] | None = harvest.field(doc="What is said of it.")

class Greeting(harvest.Source):
    """Greeting files, line by line, as frames of polars."""
    name, record_types = "greeting", (Line,)
    def read(self, partition, ctx):
        lines = partition.path.read_text().splitlines()
        ctx.read(len(lines))
        maps = [[{"key": "n", "value": line}] if line else None for line in lines]
        yield Line, pl.DataFrame({
            "text": lines,
            "tags": pl.Series(maps, dtype=TEXT_MAP),
            "extra": pl.Series(maps, dtype=TEXT_MAP),
            "position": range(1, len(lines) + 1),
        })

sys.modules["greeting"] = sys.modules["__main__"]
folder = Path(sys.argv[1])
(folder / "hello.txt").write_text("good\\n\\nmorning\\n")
names = ("harvest.builtin.plugin", "harvest_parquet.plugin", "greeting:Greeting")
plugins = PluginManager([EntryPoint(n, n, "harvest") for n in names], disabled="")
source = f"greeting:{folder / 'hello.txt'}"
harvest.run(source, f"parquet:{folder / 'out'}", plugins=plugins, workers=1)
opened = harvest.open(folder / "out", plugins=plugins)
frame = opened["greeting.line"]
for name in ("lines.csv", "lines.jsonl", "lines.parquet"):
    assert export(frame, folder / name) == 3
assert opened.verify() == []
assert opened.view("events").collect().height == 3
assert [held.rows for held in opened.holdings()] == [3]
assert len(collect(Greeting(str(folder / "hello.txt"))).rows("greeting.line")) == 3
print(frame.select("text", "tags", "extra").collect().rows())
print(importlib.util.find_spec("numpy"))
'''

EXPECTED = """\
[('good', [{'key': 'n', 'value': 'good'}], [{'key': 'n', 'value': 'good'}]), ('', None, None), \
('morning', [{'key': 'n', 'value': 'morning'}], [{'key': 'n', 'value': 'morning'}])]
None
"""


def harvested(python: str | Path, *options: str, folder: Path, path: str = "") -> str:
    """What the program prints that harvests frames with maps, and reads them."""
    done = subprocess.run(
        [python, *options, "-c", PROGRAM, folder],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_frames_with_maps_are_harvested_and_read_without_numpy(tmp_path):
    # given an interpreter that sees all libraries here but those
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for library in Path(place).iterdir():
            if not library.name.startswith(NUMERIC) and library.suffix != ".pth":
                (libraries / library.name).symlink_to(library)
    import harvest
    import harvest_look
    import harvest_parquet
    import harvest_report

    for module in (harvest, harvest_look, harvest_parquet, harvest_report):
        if not (place := libraries / module.__name__).exists():  # it is installed as editable
            place.symlink_to(Path(module.__file__).parent)

    # then rows come back as they were given
    assert harvested(sys.executable, "-S", folder=tmp_path, path=str(libraries)) == EXPECTED
