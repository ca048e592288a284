"""How hard tests try by day and at night is said in one place; by day no kind is left out."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

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
