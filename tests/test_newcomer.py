"""A newcomer's hour: from a log format that nobody knows to a published plugin that others use."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from clean_environment import build_wheels, make_environment, pip

pytest.importorskip("build")
pytest.importorskip("hatch_vcs")
pytest.importorskip("passlib")
pytest.importorskip("pypiserver")
pytest.importorskip("twine")

pytestmark = pytest.mark.slow
yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]

LOG = """\
# furnace F2, batch 17
2026-03-01T08:00:00Z zone 1: 849.2 C (set 850.0 C)
2026-03-01T08:00:05Z zone 2: 861.0 C (set 850.0 C)
2026-03-01T08:00:10Z zone 1: hot
"""
"""What the made-up furnace writes; its third reading is damaged."""

SOURCE = '''\
"""The source furnace: what a furnace's controller logs, a reading a line."""

import re
from datetime import datetime

import harvest
from harvest import Detection, Record, Source, field

LINE = re.compile(r"(\\S+) zone (\\d+): ([0-9.]+) C \\(set ([0-9.]+) C\\)")


@harvest.record("furnace.reading", layer="system", level="process")
class Reading(Record):
    """The temperature of one zone at a moment."""

    time: datetime = field(role="time", doc="When it was read.")
    zone: int = field(role="subject", doc="The zone's number.")
    temperature_c: float = field(unit="C", doc="What was read.")
    target_c: float = field(unit="C", doc="What it should be.")


class FurnaceSource(Source):
    """Furnace logs, a reading a line."""

    name = "furnace"
    record_types = (Reading,)

    @classmethod
    def detect(cls, path):
        """By the first line."""
        if path.is_file() and path.read_bytes()[:10] == b"# furnace ":
            return Detection(0.9, "a furnace's first line")
        return None

    def read(self, partition, ctx):
        """One reading a line; the head is counted as left out."""
        with partition.path.open("rb") as lines:
            for number, raw in enumerate(lines, 1):
                ctx.read(1)
                if raw.startswith(b"#"):
                    ctx.filtered(1, "head")
                    continue
                found = LINE.fullmatch(raw.decode("utf-8", "replace").rstrip())
                try:
                    if found is None:
                        raise ValueError("no 'TIME zone N: T C (set T C)'")
                    yield Reading(
                        time=datetime.fromisoformat(found[1]),
                        zone=int(found[2]),
                        temperature_c=float(found[3]),
                        target_c=float(found[4]),
                        position=number,
                    )
                except ValueError as error:
                    ctx.reject(raw, str(error), position=number)
'''

TESTS = '''\
"""What the source makes of a furnace's log, and what every source promises."""

import shutil
from pathlib import Path

from harvest_furnace.source import FurnaceSource

from harvest.testing import SourceConformance, collect

SAMPLE = Path(__file__).parent / "data" / "sample.furnace"


class TestFurnace(SourceConformance):
    source = FurnaceSource
    units = 4

    def sample(self, directory):
        return Path(shutil.copy2(SAMPLE, directory))


def test_readings_become_rows_and_the_damaged_one_a_reject():
    found = collect(FurnaceSource(str(SAMPLE)))
    rows = found.rows("furnace.reading")
    assert [(r["zone"], r["temperature_c"]) for r in rows] == [(1, 849.2), (2, 861.0)]
    assert [r.position for r in found.rejects] == [4]
'''


def delivery() -> ModuleType:
    """The script that proves the delivery, for its index on loopback."""
    spec = importlib.util.spec_from_file_location("proof", ROOT / ".ci" / "prove_delivery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def did(*command: str | Path, cwd: Path, **variables: str) -> str:
    """What a command prints; it must succeed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PIP_FIND_LINKS")}
    done = subprocess.run(
        command, cwd=cwd, env=kept | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_from_a_made_up_log_to_a_plugin_that_is_installed_elsewhere(tmp_path):
    python = sys.executable

    # a project that works untouched ...
    did(python, "-m", "harvest", "plugins", "new", "furnace", "--kind", "source", cwd=tmp_path)
    project = tmp_path / "harvest-furnace"
    (tests,) = project.glob("tests/test_*.py")

    # ... is given its own record type, parser, sample and tests
    (project / "src" / "harvest_furnace" / "source.py").write_text(SOURCE)
    (project / "tests" / "data" / "sample.furnace").write_text(LOG)
    tests.write_text(TESTS)
    passed = did(
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project,
        PYTHONPATH=str(project / "src"), PYTEST_DEBUG_TEMPROOT=str(tmp_path),
    )  # fmt: skip
    assert int(passed.split(" passed")[0].split()[-1]) > 20

    # it is built, and published by the very job that came with it
    did(python, "-m", "build", "--no-isolation", cwd=project)
    proof = delivery()
    (tmp_path / "index").mkdir()
    with proof.index(tmp_path / "index", tmp_path / "packages") as url:
        job = yaml.safe_load((project / ".gitlab-ci.yml").read_text())["publish"]
        upload = [line for line in job["script"] if line.startswith("twine ")]
        variables = {"TWINE_PASSWORD": proof.PASSWORD, "TWINE_REPOSITORY_URL": url}
        for line in upload:
            words = [python, "-m", *shlex.split(line)[:-1], *sorted((project / "dist").iterdir())]
            did(*words, cwd=project, TWINE_USERNAME=proof.USER, **variables)
        assert len(upload) == 1
        assert set(job["variables"]) == {*variables, "TWINE_USERNAME"}

        # elsewhere harvest is installed, and the plugin comes from the index alone
        wheels = tmp_path / "wheels"
        wheels.mkdir()
        build_wheels([ROOT, ROOT / "plugins" / "parquet"], wheels)
        other = make_environment(tmp_path / "elsewhere", sorted(wheels.iterdir()))
        address = url.replace("://", f"://{proof.USER}:{proof.PASSWORD}@")
        wanted = ("install", "--index-url", f"{address}/simple", "harvest-furnace")
        did(*pip(other, *wanted), cwd=tmp_path)

    # and there the log is harvested
    work = tmp_path / "work"
    work.mkdir()
    (work / "F2.log").write_text(LOG)

    def harvest(*words: str) -> str:
        return did(other, "-m", "harvest", *words, cwd=work)

    detected = json.loads(harvest("detect", "F2.log", "--json"))
    assert '"furnace"' in json.dumps(detected)
    run = subprocess.run(
        [other, "-m", "harvest", "run", "-s", "F2.log", "-k", "parquet:out", "--json"],
        cwd=work, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 3, run.stderr  # one line is no reading
    asked = "select zone, temperature_c - target_c as over_c from furnace.reading order by zone"
    found = [json.loads(row) for row in harvest("query", "out", asked, "--json").splitlines()]
    assert [(row["zone"], round(row["over_c"], 6)) for row in found] == [(1, -0.8), (2, 11.0)]
    harvest("plugins", "check", "furnace")
