"""What the README shows works as it is shown."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.fixture
def clone(tmp_path):
    """A directory in which the README's relative paths lead to the example."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "out").mkdir()
    return tmp_path


def test_the_quick_start_is_one_block_of_two_commands():
    section = README.partition("\n## Quick start\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert len(block.strip().splitlines()) == 2


@pytest.mark.slow
def test_the_tour_runs_as_it_stands(clone):
    commands = [
        shlex.split(line.removeprefix("$ "))
        for block in blocks("console")
        for line in block.splitlines()
        if line.startswith("$ harvest ")
    ]
    assert len(commands) >= 8
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", "harvest", *words[1:]],
            cwd=clone, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stderr)
    assert "Task " in (clone / "out" / "tasks.txt").read_text()


@pytest.mark.slow
def test_the_python_example_runs_as_it_stands(clone):
    (example,) = [b for b in blocks("python") if "harvest.open" in b]
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=clone, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("886 rows")


def test_the_ten_lines_make_a_source(tmp_path, monkeypatch):
    (example,) = [b for b in blocks("python") if "GreetingSource" in b]
    (tmp_path / "harvest_greeting.py").write_text(example)
    (tmp_path / "hello.txt").write_text("good\nmorning\n")
    code = (
        "from harvest_greeting import GreetingSource\n"
        "from harvest_testing import collect\n"
        "print([r['text'] for r in collect(GreetingSource('hello.txt')).rows('greeting.line')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.strip() == "['good', 'morning']", done.stderr
