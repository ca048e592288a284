"""Small datasets of every form, made in this process from Slurm dumps and a Dask run's tables."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import attrs
import pytest

import harvest
from harvest.dataset import Dataset
from harvest.plugins.registry import PluginManager
from harvest.storage.manifest import Manifest

FORMS = {
    "parquet": "parquet:P",
    "jsonl": "jsonl:J",
    "file": "jsonl:F.jsonl",
    "gz": "jsonl:F.jsonl.gz",
}
EACH_FORM = [
    "parquet",  # files that partitions share
    *(pytest.param(form, marks=pytest.mark.slow) for form in ("file", "jsonl", "gz")),
]
"""Forms as parameters; by day .ci/run passes the first slow one, too: one file of all."""

SETTINGS = {"slurm": {"timezone": "UTC"}}


def dump(*jobs: int, damaged: int = 0) -> str:
    """A Slurm dump of these jobs, and as many lines that cannot be read."""
    lines = [f"{n}|job {n}|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:{n % 60:02d}" for n in jobs]
    lines += [f"odd{n}|x|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:00" for n in range(damaged)]
    return "\n".join(("JobID|JobName|User|State|ExitCode|Elapsed|Start", *lines, ""))


def plugins_with(**modules: str) -> PluginManager:
    """A manager of the core and of these modules alone, by the names of their entry points."""
    modules = {"core": "harvest.builtin.plugin", **modules}
    points = [EntryPoint(name, module, "harvest") for name, module in modules.items()]
    return PluginManager(points, disabled="")


def change_a_byte(path: Path) -> None:
    """Damage a file in its middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@attrs.frozen
class Small:
    """A folder of dumps, and a dataset of some form beside it."""

    folder: Path
    form: str = "parquet"

    @property
    def inputs(self) -> Path:
        return self.folder / "in"

    @property
    def sink(self) -> str:
        name, _, path = FORMS[self.form].partition(":")
        return f"{name}:{self.folder / path}"

    @property
    def location(self) -> Path:
        return Path(self.sink.partition(":")[2])

    @property
    def state(self) -> Path:
        if self.location.suffix:
            return self.location.with_name(self.location.name + "._harvest")
        return self.location / "_harvest"

    def write(self, **files: str) -> Small:
        """Write dumps, by name without ending; other files stay."""
        self.inputs.mkdir(exist_ok=True)
        for name, text in files.items():
            (self.inputs / f"{name}.txt").write_text(text)
        return self

    def words(self, *more: str) -> list[str]:
        """The words of the command that harvests."""
        words = ["run", "-s", f"slurm:{self.inputs}", "-k", self.sink, "-o", "slurm.timezone=UTC"]
        return [*words, *more]

    def harvest(self, **options: Any) -> Any:
        options = {"workers": 1, "settings": SETTINGS, **options}
        return harvest.run(f"slurm:{self.inputs}", self.sink, **options)

    def open(self) -> Dataset:
        return harvest.open(self.location)

    def manifest(self) -> Manifest:
        manifest = Manifest.load(self.state)
        assert manifest is not None
        return manifest

    def jobs(self) -> list[int]:
        """What a reader of the dataset sees: the ids of its jobs, by file and line."""
        frame = self.open()["slurm.job"].sort("origin", "position").collect()
        return [int(n) for n in frame["job_id"].to_list()]

    def seen(self) -> dict[str, bytes]:
        """What a reader who knows nothing of manifests sees: names and bytes."""
        paths: Iterable[Path] = [self.location]
        if self.location.is_dir():
            paths = sorted(p for p in self.location.rglob("*") if self.state not in p.parents)
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in paths if p.is_file()}

    def files(self) -> list[Path]:
        """The files that hold rows."""
        return [self.folder / name for name in self.seen()]
