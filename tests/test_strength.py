"""How hard tests try by day and at night is said in one place; by day no kind is left out."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import strength

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(params=[False, True], ids=["day", "night"])
def night(request, monkeypatch):
    monkeypatch.setattr(strength, "NIGHT", request.param)
    return request.param


@pytest.mark.parametrize(("kinds", "variants"), [("abcde", (1, 2)), ("ab", (1, 2, 3)), ("a", (1,))])
def test_pairs_hold_each_kind_and_each_variant_and_at_night_both_together(kinds, variants, night):
    found = strength.pairs(kinds, variants)

    assert {kind for kind, _ in found} == set(kinds)
    assert {variant for _, variant in found} == set(variants)
    assert (
        len(found)
        == len(set(found))
        == (len(kinds) * len(variants) if night else max(len(kinds), len(variants)))
    )
    assert set(found) <= set(itertools.product(kinds, variants))


class Item:
    """A test as pytest collects it, with values for its parameters."""

    def __init__(self, name, marked, **values):
        self.nodeid = f"test_it.py::{name}"
        self.marked = marked
        self.values = values
        if values:
            self.callspec = SimpleNamespace(params=values)

    def get_closest_marker(self, name):
        return self.marked if self.marked and self.marked.name == name else None


def test_each_once_shows_every_value_and_leaves_out_no_test():
    # given a test with 3 times 5 cases, one of which cannot be, and others without mark or values
    kinds, ways = ["a", "b", "c"], [10, 20, 30, 40, 50]
    cases = [
        Item(f"test_marked[{kind}-{way}]", pytest.mark.each_once.mark, kind=kind, way=way)
        for kind, way in itertools.product(kinds, ways)
        if (kind, way) != ("a", 10)
    ]
    others = [Item("test_plain", pytest.mark.each_once.mark)]
    others += [Item(f"test_all[{kind}]", False, kind=kind) for kind in kinds]

    chosen = strength.chosen_by_day([*cases, *others])

    found = [item.values for item in cases if item in chosen]
    assert len(found) == len(ways)
    assert {value["kind"] for value in found} == set(kinds)
    assert {value["way"] for value in found} == set(ways)
    assert chosen.issuperset(others)


def test_of_a_slow_test_every_third_case_is_passed_and_of_a_fast_one_all():
    slow = [Item(f"test_slow[{n}]", pytest.mark.slow.mark, number=n) for n in range(5)]
    fast = [Item(f"test_fast[{n}]", None, number=n) for n in range(5)]
    alone = Item("test_whole", pytest.mark.slow.mark)

    chosen = strength.chosen_by_day([*slow, *fast, alone])

    assert chosen == {slow[0], slow[3], *fast, alone}


def test_of_what_classes_inherit_each_test_is_passed_by_some_class_and_each_class_passes_some():
    # given five classes that inherit three tests
    cases = [
        Item(test, pytest.mark.each_once("kit").mark)
        for _, test in itertools.product(range(5), ("test_one", "test_two", "test_three"))
    ]
    for number, item in enumerate(cases):
        item.name, item.cls = item.nodeid.partition("::")[2], number // 3

    chosen = strength.chosen_by_day(cases)

    assert len(chosen) == 5
    assert {item.cls for item in chosen} == set(range(5))
    assert len({item.name for item in chosen}) == 3


def test_a_variable_sets_one_number_whatever_the_time(night, monkeypatch):
    monkeypatch.delenv("HARVEST_KILLS", raising=False)
    assert strength.times("HARVEST_KILLS", day=8, night=200) == (200 if night else 8)
    monkeypatch.setenv("HARVEST_KILLS", "3")
    assert strength.times("HARVEST_KILLS", day=8, night=200) == 3


def test_few_examples_stay_as_they_are(night):
    assert [strength.examples(n) for n in (3, 40, 500)] == ([3, 40, 500] if night else [3, 10, 100])


def test_no_test_has_a_number_of_examples_of_its_own():
    files = [path for where in ("tests", "plugins/*/tests") for path in ROOT.glob(f"{where}/*.py")]
    assert len(files) > 100
    own = [path.name for path in files if re.search(r"max_examples=\d", path.read_text("utf-8"))]
    assert own == []
