"""What was in ``harvest.report`` before is found there for one minor version more."""

from __future__ import annotations

import harvest.report
import pytest

import harvest_report


@pytest.mark.parametrize("name", harvest_report.__all__)
def test_each_public_name_is_at_its_old_place_and_says_where_it_is_now(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{name} is deprecated.*from harvest_report"):
        found = getattr(harvest.report, name)
    assert found is getattr(harvest_report, name)
