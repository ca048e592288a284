"""The kit for sources finds the bugs that authors plant without knowing, each by one promise."""

from __future__ import annotations

import inspect
import itertools
import unittest
from pathlib import Path

import pytest
from planted.bug import Bug
from planted.source_bugs import FOUND, UNSEEN
from planted.sources import PLANTINGS, plant
from planted.table import PAGE, in_page, tables

from harvest_testing import BrokenPromise

COUNT = itertools.count()
LONG = (
    "test_another_process_gives_the_same",
    "test_killed_runs_resume",
    "test_many_lines_are_numbered_alike",
    "test_memory_is_bounded",
)
TESTS = sorted(
    {name for p in PLANTINGS.values() for name in dir(p.kit) if name.startswith("test_")}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder on the module path, where other processes find packages, too."""
    found = tmp_path_factory.mktemp("planted")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(found)
        yield found


@pytest.fixture(scope="module")
def sound(folder):
    """The kits of the sources without bugs."""
    return {where: plant(where, folder, f"sound_{where}") for where in PLANTINGS}


def planted(where, folder, changes=()):
    return plant(where, folder, f"planted_{next(COUNT)}", changes)


def run(kit, test: str, tmp_path: Path) -> None:
    """One test of the kit, or one for each choice of its parameter."""
    name, _, choice = test.removesuffix("]").partition("[")
    method = getattr(kit, name)
    wanted = inspect.signature(method).parameters
    choices = [choice] if choice else kit.choices().get("corruption", [])
    for number, value in enumerate(choices if "corruption" in wanted else [None]):
        place = tmp_path / f"run {number}"
        place.mkdir()
        given = {"tmp_path": place} if "tmp_path" in wanted else {}
        method(**given, **({"corruption": value} if value else {}))


@pytest.mark.slow
@pytest.mark.parametrize("bug", FOUND, ids=lambda bug: bug.says)
def test_a_planted_bug_is_found_by_its_promise(bug: Bug, folder, tmp_path):
    with pytest.raises(BrokenPromise) as broken:
        run(planted(bug.where, folder, bug.changes), bug.found_by, tmp_path)
    assert broken.value.remedy


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("where", PLANTINGS)
def test_the_sound_sources_pass(where, test, sound, tmp_path):
    try:
        run(sound[where], test, tmp_path)
    except unittest.SkipTest as reason:
        pytest.skip(str(reason))


@pytest.mark.slow(night=True)
@pytest.mark.parametrize("bug", UNSEEN, ids=lambda bug: bug.says)
def test_what_is_documented_as_not_found_is_not_found(bug: Bug, folder, tmp_path):
    kit = planted(bug.where, folder, bug.changes)
    for test in set(TESTS) - set(LONG):
        (tmp_path / test).mkdir()
        try:
            run(kit, test, tmp_path / test)
        except unittest.SkipTest:
            continue


def test_the_page_shows_the_bugs_as_they_are_tested():
    for heading, table in tables().items():
        shown = in_page(heading).search(PAGE.read_text())
        assert shown, f"the page has no table under {heading!r}"
        assert shown[2] == table + "\n", "write it anew: python -m planted.table, in tests"


def test_each_bug_is_said_once_and_planted_in_a_known_source():
    bugs = [*FOUND, *UNSEEN]
    assert len({bug.says for bug in bugs}) == len(bugs)
    assert len(FOUND) >= 32
    assert {bug.where for bug in bugs} <= set(PLANTINGS)
    assert {bug.found_by.partition("[")[0] for bug in FOUND} <= set(TESTS)
