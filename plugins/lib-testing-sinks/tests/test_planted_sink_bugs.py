"""The conformance kit for sinks, tried on bugs that authors make."""

from __future__ import annotations

import inspect
import locale
import unittest
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="bugs are planted in the example sink harvest-duckdb, too")

from sink_bugs import BUGS
from sound_sinks import KITS

from harvest_testing.check import try_quick_promises

PAGE = Path(__file__).parents[3] / "docs" / "testing-plugins.md"
CAUGHT = [bug for bug in BUGS if bug.caught_by]
UNCAUGHT = [bug for bug in BUGS if not bug.caught_by]


@pytest.fixture(autouse=True)
def restored():
    """What bugs change in this process is as it was afterwards."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    locale.setlocale(locale.LC_ALL, before)


def kit_of(base, sink):
    return type("Kit", (KITS[base],), {"sink": sink})()


def outcome(kit, test, directory):
    """What a test of the kit says: the name of the error that it ends with, or None."""
    name, _, choice = test.partition("[")
    method = getattr(kit, name)
    given = {}
    if "tmp_path" in inspect.signature(method).parameters:
        directory.mkdir()
        given["tmp_path"] = directory
    if choice:
        given["kind"] = choice.rstrip("]")
    try:
        method(**given)
    except unittest.SkipTest:
        return None
    except Exception as error:
        return type(error).__name__
    return None


def all_tests(kit):
    names = [
        name for name in dir(kit) if name.startswith("test_") and name != "test_rows_come_back"
    ]
    return [*names, *(f"test_rows_come_back[{kind}]" for kind in kit.kinds)]


@pytest.mark.slow
@pytest.mark.parametrize("bug", CAUGHT, ids=lambda bug: bug.name)
def test_a_bug_is_caught_by_its_test(bug, tmp_path):
    assert issubclass(bug.mutated, bug.base)
    kit = kit_of(bug.base, bug.mutated)
    assert outcome(kit, bug.caught_by, tmp_path / "mutated") not in (None, "SkipTest")


@pytest.mark.slow(night=True)
@pytest.mark.parametrize("base", KITS, ids=lambda base: base.__name__)
def test_the_sinks_without_bugs_keep_what_is_promised(base):
    found = list(try_quick_promises(kit_of(base, base), "sink"))

    assert [f for f in found if f.result == "broken"] == []
    assert {f.detail for f in found if f.result == "skipped"} == {"it holds values of every kind"}
    assert len(found) > 30


@pytest.mark.slow(night=True)
@pytest.mark.parametrize("bug", UNCAUGHT, ids=lambda bug: bug.name)
def test_a_bug_that_cannot_be_found_is_not(bug, tmp_path):
    """Where the kit learns to find one, it leaves the list of those that it does not."""
    assert bug.reason
    kit = kit_of(bug.base, bug.mutated)
    found = {test: outcome(kit, test, tmp_path / test) for test in all_tests(kit)}
    assert {test: error for test, error in found.items() if error} == {}


def test_each_bug_has_a_name_and_a_sentence():
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 17
    assert {bug.base for bug in BUGS} == KITS.keys()
    for bug in BUGS:
        assert bug.statement.endswith(".")
        assert "\n" not in bug.statement


def test_the_page_lists_the_bugs():
    caught = [f"| {b.statement[:-1]} | `{b.caught_by}` |" for b in CAUGHT]
    uncaught = [f"| {b.statement[:-1]} | {b.reason} |" for b in UNCAUGHT]
    page = PAGE.read_text("utf-8").partition("## Bugs that the kit finds in sinks")[2]
    rows = [line for line in page.partition("\n## ")[0].splitlines() if line.startswith("| ")]

    assert rows == [
        "| bug | found by |", *caught, "| bug | why no test finds it |", *uncaught
    ]  # fmt: skip
