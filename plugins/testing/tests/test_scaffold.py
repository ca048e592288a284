"""``harvest plugins new``: what it writes works untouched."""

import os
import subprocess
import sys
import tomllib
from email.parser import HeaderParser
from importlib.metadata import EntryPoint, version
from itertools import combinations
from pathlib import Path
from zipfile import ZipFile

import pytest
from clean_environment import build_wheels, declared_by, make_environment
from packaging.requirements import Requirement
from packaging.version import Version

from harvest.errors import UsageError
from harvest.plugins.registry import PluginManager
from harvest_testing.check import check_promises
from harvest_testing.declarations import check_plugin
from harvest_testing.scaffold import KINDS, add_kinds, scaffold

ROOT = Path(__file__).resolve().parents[3]
COMBINATIONS = [
    (kinds, columnar)
    for count in range(1, len(KINDS) + 1)
    for kinds in combinations(KINDS, count)
    for columnar in ((False, True) if "source" in kinds else (False,))
]


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """What a module of this interpreter prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, env=os.environ | variables,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def plugins_of(root: Path) -> PluginManager:
    """A manager that knows the project's plugin alone."""
    declared = tomllib.loads((root / "pyproject.toml").read_text())
    ((entry, target),) = declared["project"]["entry-points"]["harvest"].items()
    plugins = PluginManager([EntryPoint(entry, target, "harvest")], disabled="")
    assert plugins.broken == {}
    return plugins


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "columnar"), [(KINDS, False), (("source",), True)])
def test_a_new_project_passes_its_own_tests_and_is_a_sound_plugin(
    kinds, columnar, tmp_path, monkeypatch
):
    name = f"made-up-{len(kinds)}"
    scaffold(name, kinds, tmp_path, columnar=columnar)
    root = tmp_path / f"harvest-{name}"

    variables = {"PYTHONPATH": str(root / "src"), "PYTEST_DEBUG_TEMPROOT": str(tmp_path)}
    tested = run("pytest", "-q", "-p", "no:cacheprovider", cwd=root, **variables)
    assert int(tested.split(" passed")[0].split()[-1]) > 30

    monkeypatch.syspath_prepend(root / "src")
    plugins = plugins_of(root)
    assert check_plugin(plugins, name) == []
    sample = root / "tests" / "data"
    assert [f for f in check_promises(plugins, name, sample=sample) if f.result == "broken"] == []


LINES = '''"""A source of lines."""

from collections.abc import Iterator
from typing import Any

import harvest
import pyarrow as pa
from harvest import Partition, ReadContext
from harvest_toolkit.line_source import LineSource


@harvest.record("lines_only.line", layer="workflow", level="client")
class Line(harvest.Record):
    """A line."""

    text: str = harvest.field(role="subject", doc="What it says.")


class LinesOnlySource(LineSource):
    """Lines of text."""

    name = "lines-only"
    record_types = (Line,)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[tuple[type[Line], Any]]:
        """Every line."""
        for lines in self.lines(partition, ctx):
            yield Line, pa.table({"text": lines.column(), "position": lines.numbers})
'''


@pytest.mark.slow
def test_a_source_of_lines_is_checked_with_what_its_project_declares_alone(tmp_path):
    pytest.importorskip("hatch_vcs", reason="wheels are built with hatch-vcs, of the extra dev")
    # given a project of a source of lines, and an environment with what its wheel declares
    scaffold("lines-only", ["source"], tmp_path)
    root, wheels = tmp_path / "harvest-lines-only", tmp_path / "wheels"
    (root / "src/harvest_lines_only/source.py").write_text(LINES)
    wheels.mkdir()
    build_wheels([ROOT, ROOT / "plugins" / "testing", root], wheels)
    (wheel,) = wheels.glob("harvest_lines_only-*.whl")
    needed = [str(need) for need in requirements_of(wheel) if need.marker is None]
    python = make_environment(tmp_path / "venv", sorted(wheels.iterdir()), declared_by(needed))

    # when it is checked as its pipeline does
    sample = root / "tests" / "data"
    checked = subprocess.run(
        [python, "-m", "harvest", "plugins", "check", "lines-only", "--sample", sample],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )  # fmt: skip

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert ", 0 broken, " in checked.stdout


@pytest.fixture(scope="module")
def projects(tmp_path_factory) -> Path:
    """A folder with a project of every combination of kinds, with names of all lengths."""
    folder = tmp_path_factory.mktemp("projects")
    for number, (kinds, columnar) in enumerate(COMBINATIONS):
        name = "abcdefghijklmnopqrstuvwxyzabcdef"[number:] + f"-{number}"
        scaffold(name[-32:], kinds, folder, columnar=columnar, url="https://git.example.org/x")
    return folder


def test_every_combination_of_kinds_is_styled_as_it_stands(projects):
    pytest.importorskip("ruff")

    assert run("ruff", "check", ".", cwd=projects).strip() == "All checks passed!"
    assert "would" not in run("ruff", "format", "--check", ".", cwd=projects)


def test_every_combination_of_kinds_is_a_plugin_of_these_kinds(projects, monkeypatch):
    for (kinds, _), root in zip(COMBINATIONS, sorted_by_number(projects), strict=True):
        monkeypatch.syspath_prepend(root / "src")
        plugins = plugins_of(root)
        (plugin,) = plugins

        assert [kind for kind in KINDS if getattr(plugins, f"{kind}s")] == list(kinds)
        assert check_plugin(plugins, plugin.name) == []


def test_a_new_plugin_is_listed_without_libraries_of_tables(projects):
    root = sorted_by_number(projects)[-1]  # with all kinds
    module = f"{root.name.replace('-', '_')}.plugin"

    loaded = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert module in loaded.stdout.split()
    assert not {"polars", "pyarrow", "numpy"} & {*loaded.stdout.split()}


def sorted_by_number(projects: Path) -> list[Path]:
    return sorted(projects.glob("harvest-*"), key=lambda path: int(path.name.rpartition("-")[2]))


@pytest.mark.slow(night=True)
def test_every_combination_of_kinds_has_sound_types(projects, tmp_path):
    pytest.importorskip("mypy")
    roots = sorted_by_number(projects)
    cache = ("--cache-dir", str(tmp_path / "cache"))

    # the two with all kinds, tests included, as their authors check them
    for root in roots[-2:]:
        assert "no issues found" in run("mypy", *cache, cwd=root)

    # and the packages of all
    config = roots[0] / "pyproject.toml"
    packages = [root / "src" for root in roots]
    checked = run("mypy", *cache, "--strict", "--config-file", config, *packages, cwd=projects)
    assert "no issues found" in checked


@pytest.mark.slow
def test_a_new_project_is_built_with_all_that_a_package_page_shows(tmp_path):
    pytest.importorskip("hatchling")
    pytest.importorskip("twine")
    scaffold("made-up", ["source", "view"], tmp_path, url="https://git.example.org/made-up")
    root = tmp_path / "harvest-made-up"

    run("hatchling", "build", "-t", "wheel", cwd=root)

    (wheel,) = (root / "dist").glob("harvest_made_up-0.1.0-*.whl")
    run("twine", "check", "--strict", wheel, cwd=root)
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read("harvest_made_up-0.1.0.dist-info/METADATA").decode()
    read = HeaderParser().parsestr(metadata)
    assert "harvest_made_up-0.1.0.dist-info/licenses/LICENSE" in names
    assert read["License-Expression"] == "MIT"
    assert "harvest-plugin" in read["Keywords"].split(",")
    assert "Typing :: Typed" in read.get_all("Classifier")
    assert read.get_all("Project-URL") == ["Homepage, https://git.example.org/made-up"]
    needs = requirements_of(wheel)
    ours = [need for need in needs if need.name.startswith("hpc-harvest")]
    assert {need.name for need in ours} == {"hpc-harvest", "hpc-harvest-testing"}
    assert all(Version(version("hpc-harvest")) in need.specifier for need in ours)
    assert {"build", "pytest", "twine"} <= {need.name for need in needs}
    assert all(need.specifier for need in needs)


def requirements_of(wheel: Path) -> list[Requirement]:
    """What a wheel declares that it needs."""
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        read = HeaderParser().parsestr(archive.read(name).decode())
    return list(map(Requirement, read.get_all("Requires-Dist")))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a_b", "not a valid plugin name"),
        ("../up", "not a valid plugin name"),
        ("a" * 33, "at most 32"),
        ("class", "a word of Python's own"),
        ("harvest-mine", "leave that out: harvest plugins new mine"),
        ("parquet", "taken by hpc-harvest-parquet"),
        ("local", "taken by hpc-harvest"),
        ("io", "taken by hpc-harvest"),
        ("toolkit", "taken by the installed package harvest_toolkit"),
    ],
)
def test_names_that_cannot_be_had_are_refused(name, reason, tmp_path):
    with pytest.raises(UsageError, match=reason):
        scaffold(name, ["source"], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["json", "plugin"])
def test_names_of_modules_and_classes_in_use_clash_with_nothing(name, tmp_path, monkeypatch):
    root = tmp_path / f"harvest-{name}"
    scaffold(name, KINDS, tmp_path)

    monkeypatch.syspath_prepend(root / "src")
    assert check_plugin(plugins_of(root), name) == []


@pytest.mark.parametrize("columnar", [False, True])
def test_kinds_that_are_added_give_the_project_that_has_them_from_the_start(columnar, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    scaffold("mine", KINDS, one, columnar=columnar)

    scaffold("mine", ["source"], other, columnar=columnar)
    for kind in ("sink", "view", "report"):
        add_kinds("mine", [kind], other)

    def modules(folder: Path) -> dict[str, str]:
        found = folder.rglob("*.py")
        return {str(p.relative_to(folder)): p.read_text() for p in found if p.name[:2] != "__"}

    def dependencies(folder: Path) -> list[str]:
        text = (folder / "harvest-mine/pyproject.toml").read_text()
        project = tomllib.loads(text)["project"]
        return [*project["dependencies"], *project["optional-dependencies"]["dev"]]

    assert len(modules(one)) == 10
    assert modules(one) == modules(other)
    assert dependencies(one) == dependencies(other)


@pytest.mark.parametrize(
    ("kinds", "more", "reason"),
    [
        (["engine"], {}, "use source, sink, view, report"),
        (["sink", "view"], {"columnar": True}, "only a source is columnar"),
        (["source"], {"url": "here"}, "is not a web address"),
        (["source"], {"url": "https://a\x01"}, "is not a web address"),
    ],
)
def test_what_no_project_can_have_is_refused(kinds, more, reason, tmp_path):
    with pytest.raises(UsageError, match=reason):
        scaffold("mine", kinds, tmp_path, **more)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_and_kinds_are_added_to_what_exists(tmp_path):
    with pytest.raises(UsageError, match="does not exist; leave out --add"):
        add_kinds("mine", ["view"], tmp_path)
    scaffold("mine", ["source"], tmp_path)
    with pytest.raises(UsageError, match="exists already"):
        scaffold("mine", ["view"], tmp_path)
    with pytest.raises(UsageError, match=r"source\.py: it is there already"):
        add_kinds("mine", ["view", "source"], tmp_path)
    assert not (tmp_path / "harvest-mine/src/harvest_mine/views").exists()
