"""The planted bugs are what they say, and the kit catches those that it caught before."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.planted.bugs import BUGS, SETS
from tests.planted.page import PAGE, shown, tables
from tests.planted.planting import sound

ROOT = Path(__file__).resolve().parents[1]
ALL = [*BUGS, *(bug for bugs in SETS.values() for bug in bugs)]


@pytest.mark.parametrize("bug", ALL, ids=lambda bug: bug.name)
def test_a_bug_is_a_small_change_that_python_takes(bug):
    text = sound(bug.plugin)

    planted = bug.applied(text)

    compile(planted, bug.name, "exec")
    changed = Counter(planted.splitlines()) - Counter(text.splitlines())
    assert 0 <= changed.total() <= 15
    assert planted != text


def test_no_two_bugs_have_one_name():
    assert Counter(bug.name for bug in ALL).most_common(1)[0][1] == 1


def test_the_page_shows_what_came_of_them():
    assert shown(PAGE.read_text()) == tables(), "python -m tests.planted.page --write"


@pytest.mark.slow(night=True)
@pytest.mark.slow
def test_what_was_caught_is_caught():
    command = [sys.executable, "-m", "tests.planted", "--hold"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
