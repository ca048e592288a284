"""The tutorial of the study is run as it is written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tutorials" / "ncem-study.md"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def steps():
    """Commands of the page, each with the lines of output that the page shows below it."""
    found = []
    for block in BLOCK.findall(PAGE.read_text("utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line[2:]), []))
            else:
                found[-1][1].append(line)
    return found


def test_every_command_does_what_the_tutorial_shows(tmp_path):
    for module in ("harvest_slurm", "harvest_ncem", "harvest_distiller", "harvest_parquet"):
        pytest.importorskip(module)
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    programs = {"python": [sys.executable], "harvest": [sys.executable, "-m", "harvest"]}

    for (program, *arguments), shown in steps():
        done = subprocess.run(
            [*programs[program], *arguments],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80"},
            capture_output=True,
            text=True,
            check=False,
        )
        told = " ".join([program, *arguments])
        assert done.returncode == 0, f"{told}\n{done.stderr}"
        printed = [line.rstrip() for line in done.stdout.splitlines()]
        for line in shown:
            assert line == "..." or line.rstrip() in printed, f"{told}\n{done.stdout}"

    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert (tmp_path / "report" / "comparison.csv").read_text() == (
        tmp_path / "comparison.csv"
    ).read_text()


def test_every_picture_of_the_tutorial_is_there_and_described():
    for alt, target in re.findall(r"!\[([^]]*)\]\(([^)]*)\)", PAGE.read_text("utf-8")):
        assert len(alt) > 20
        assert (PAGE.parent / target).stat().st_size < 200_000


def test_every_link_of_the_tutorial_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / target).exists(), target
