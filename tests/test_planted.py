"""The planted bugs are what they say, and the kit catches those that it caught before."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.planted.bugs import BUGS
from tests.planted.planting import SOUND

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_a_small_change_that_python_takes(bug):
    sound = (SOUND / f"planted_{bug.plugin}.py").read_text()

    planted = bug.applied(sound)

    compile(planted, bug.name, "exec")
    changed = Counter(planted.splitlines()) - Counter(sound.splitlines())
    assert 0 <= changed.total() <= 15
    assert planted != sound


def test_no_two_bugs_have_one_name():
    assert Counter(bug.name for bug in BUGS).most_common(1)[0][1] == 1


@pytest.mark.night
@pytest.mark.slow
def test_what_was_caught_is_caught():
    command = [sys.executable, "-m", "tests.planted", "--hold"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
