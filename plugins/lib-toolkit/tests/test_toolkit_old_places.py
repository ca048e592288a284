"""What was in ``harvest.toolkit`` before is found there for one minor version more."""

from __future__ import annotations

import importlib

import pytest

import harvest

MOVED = (
    "choices csv_header deferred delimited hosts json_lines line_blocks lines pairs spans streams "
    "values"
)


@pytest.mark.parametrize("module", MOVED.split())
def test_all_names_of_a_module_that_moved_are_at_its_old_place(module: str) -> None:
    old = importlib.import_module(f"harvest.toolkit.{module}")
    new = importlib.import_module(f"harvest_toolkit.{module}")
    assert new.__all__
    for name in new.__all__:
        with pytest.warns(DeprecationWarning, match=f"import it from harvest_toolkit.{module}$"):
            assert getattr(old, name) is getattr(new, name)


@pytest.mark.parametrize(
    ("place", "name", "module"),
    [
        (harvest, "LineSource", "line_source"),
        (harvest, "LineConfig", "line_source"),
        (importlib.import_module("harvest.toolkit.frames"), "extra_of", "frames"),
        (importlib.import_module("harvest.toolkit.frames"), "directory_of", "frames"),
    ],
)
def test_a_name_that_left_a_module_is_at_its_old_place(place, name: str, module: str) -> None:
    new = importlib.import_module(f"harvest_toolkit.{module}")
    with pytest.warns(DeprecationWarning, match=f"import it from {new.__name__}$") as caught:
        assert getattr(place, name) is getattr(new, name)
    assert caught[0].filename == __file__
