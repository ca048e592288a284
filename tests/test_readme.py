"""What the README shows works as it is shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import check_page

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_quick_start_is_one_block_of_two_commands():
    section = README.partition("\n## Quick start\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert len(block.strip().splitlines()) == 2


@pytest.mark.slow
def test_its_blocks_do_what_they_show(tmp_path):
    assert check_page(ROOT / "README.md", tmp_path / "page").checked >= 10


def test_it_is_read_in_five_minutes():
    seen = re.sub("<!--.*?-->", "", README)
    assert len(seen.split()) <= 900


def test_the_ten_lines_make_a_source(tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (example,) = [block for block in blocks if "GreetingSource" in block]
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
