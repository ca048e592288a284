"""The kits for views and reports find planted bugs, each by one promise."""

from __future__ import annotations

import itertools
import unittest

import pytest

pytest.importorskip("harvest_parquet")

from planted.view_bugs import KITS, REPORT_BUGS, VIEW_BUGS, plant

from harvest_testing import BrokenPromise

pytestmark = pytest.mark.slow
COUNT = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder on the module path."""
    found = tmp_path_factory.mktemp("planted")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(found)
        yield found


@pytest.mark.parametrize("bug", [*VIEW_BUGS, *REPORT_BUGS], ids=lambda bug: bug.says)
def test_a_planted_bug_is_found_by_its_promise(bug, folder, tmp_path):
    kit = plant(bug.where, folder, f"views_{next(COUNT)}", bug.changes)
    with pytest.raises(BrokenPromise) as broken:
        getattr(kit, bug.found_by)(tmp_path)
    assert broken.value.promise
    assert broken.value.remedy


@pytest.mark.parametrize(
    ("where", "test"),
    [(w, t) for w, kit in KITS.items() for t in dir(kit) if t.startswith("test_")],
)
def test_sound_views_and_reports_pass(where, test, folder, tmp_path):
    kit = plant(where, folder, f"views_{next(COUNT)}")
    try:
        getattr(kit, test)(tmp_path)
    except unittest.SkipTest as reason:
        pytest.skip(str(reason))
