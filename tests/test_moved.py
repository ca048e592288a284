"""Names at the places that they had before: they work, and say where they are now."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def old_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on Python's path, with a module left behind whose names are in another now."""
    (tmp_path / "left_behind.py").write_text(
        "from harvest.moved import moved\n\n"
        '__getattr__ = moved(__name__, "harvest_example.pairs")\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("left_behind", "harvest_example.pairs", "harvest_example"):
        sys.modules.pop(name, None)


def install(folder: Path, text: str) -> None:
    """What the distribution hpc-harvest-example would bring."""
    (folder / "harvest_example").mkdir()
    (folder / "harvest_example" / "__init__.py").touch()
    (folder / "harvest_example" / "pairs.py").write_text(text)
    importlib.invalidate_caches()


def test_a_name_at_its_old_place_works_and_warns_where_it_is_imported(old_place: Path) -> None:
    install(old_place, "def split(text):\n    return text.split('=')\n")
    with pytest.warns(DeprecationWarning, match="left_behind") as caught:
        from left_behind import split  # type: ignore[import-not-found]
    assert split("a=1") == ["a", "1"]
    assert [str(warning.message) for warning in caught] == [
        "left_behind.split is deprecated and goes with the next minor version of harvest; "
        "import it from harvest_example.pairs"
    ]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("harvest.report", "harvest_report"),
        ("harvest.testing", "harvest_testing"),
        ("harvest_testing.engine", "harvest_testing_engines"),
        ("harvest_testing.exporters", "harvest_testing_exporters"),
        ("harvest_testing.sink", "harvest_testing_sinks"),
        ("harvest_testing.sink.driver", "harvest_testing_sinks.driver"),
        ("harvest.toolkit.pairs", "harvest_toolkit.pairs"),
        ("harvest.toolkit.cells", "harvest_report.values"),
        ("harvest.model.csv", "harvest_report.csv"),
    ],
)
def test_a_module_that_has_left_a_package_is_found_in_it(old: str, new: str) -> None:
    # in a process of its own: here it may be imported already
    package, _, name = old.rpartition(".")
    for statement in (f"import {old} as m", f"from {package} import {name} as m"):
        names = importlib.import_module(new).__all__
        same = " and ".join(f"m.{each} is n.{each}" for each in names)
        program = f"{statement}; import {new} as n; print({same})"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.stdout == "True\n", done.stderr


def test_all_names_of_an_old_place_are_those_of_the_new(old_place: Path) -> None:
    install(old_place, "__all__ = ['split']\nsplit, hidden = 1, 2\n")
    names: dict[str, object] = {}
    with pytest.warns(DeprecationWarning, match="split"):
        exec("from left_behind import *", names)
    assert names["split"] == 1
    assert "hidden" not in names


def test_importing_the_old_module_alone_warns_of_nothing(old_place: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        importlib.import_module("left_behind")


def test_a_missing_distribution_is_named_with_the_command_that_installs_it(old_place: Path) -> None:
    with pytest.raises(ImportError) as caught:
        from left_behind import split  # noqa: F401
    assert str(caught.value) == (
        "left_behind.split is now in harvest_example.pairs, which is not installed: "
        "pip install hpc-harvest-example"
    )


def test_what_the_new_module_itself_lacks_is_what_the_error_names(old_place: Path) -> None:
    install(old_place, "import a_module_that_nobody_has\n")
    with pytest.raises(ModuleNotFoundError) as caught:
        from left_behind import split  # noqa: F401
    assert caught.value.name == "a_module_that_nobody_has"


def test_a_name_that_the_new_module_does_not_have_is_an_import_error(old_place: Path) -> None:
    install(old_place, "split = 1\n")
    with pytest.raises(ImportError, match="cannot import name 'splitt'"):
        from left_behind import splitt  # noqa: F401
