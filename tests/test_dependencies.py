"""Every distribution works with what it declares, whatever else happens to be installed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import captures
import pytest
import small_inputs
from clean_environment import build_wheels, declared_by, make_environment
from commands import harvest_each
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = {
    tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"]: folder
    for folder in (ROOT, *sorted((ROOT / "plugins").iterdir()))
}
CORE = "hpc-harvest"
TOOLKIT = f"{CORE}[toolkit]"
"""What a plugin declares that imports ``harvest_toolkit``: its libraries are an extra."""
NEEDS = {"to_numpy": "numpy", "to_pandas": "pandas", "to_torch": "torch", "to_jax": "jax"}
"""Methods of polars and pyarrow that import another library."""

LEFT_OPEN = {
    "pytest": "harvest_testing is for those who run pytest",
    "cycler": "comes with matplotlib",
}
"""What is imported without being declared, and why."""

MODULES_OF_THEIR_OWN = {
    "dask", "deltalake", "distributed", "harvest_toolkit", "mcp", "numpy", "pydantic",
}  # fmt: skip
"""Optional libraries for which there are whole modules, imported where the library is there."""


def declared(name: str, *, extras: bool, asked: frozenset[str] = frozenset()) -> set[str]:
    """What a distribution declares to need, with that of the core.

    extras: with its options, and those of the libraries that it needs; asked: who asks for it.
    """
    project = tomllib.loads((PROJECTS[name] / "pyproject.toml").read_text())["project"]
    words, options = list(project["dependencies"]), project.get("optional-dependencies", {})
    if extras:
        for_tests = ("dev", "test")
        words += [word for key, more in options.items() if key not in for_tests for word in more]
    found = {canonicalize_name(Requirement(word).name) for word in words}
    if name == CORE:
        return found
    if any(need.name == CORE and "toolkit" in need.extras for need in map(Requirement, words)):
        found |= {TOOLKIT, "numpy", "zstandard"}
    asked |= {CORE, name}
    libraries = found & PROJECTS.keys() - asked if extras else set()
    needs = (declared(each, extras=extras, asked=asked) for each in (CORE, *libraries))
    return found.union(*needs)


@cache
def packages_of(name: str) -> set[str]:
    """The packages and modules of an installed distribution."""
    try:
        return {file.parts[0].partition(".")[0] for file in distribution(name).files or ()}
    except PackageNotFoundError:
        return set()


def used(folder: Path) -> Iterator[tuple[str, bool, str]]:
    """What its modules import or need: a module's name, whether at import, and where."""
    for path in sorted(folder.rglob("*.py")):
        tree, inside = ast.parse(path.read_text()), path.relative_to(ROOT)
        spared = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if id(node) in spared:
                continue
            where = f"{inside}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name.partition(".")[0], node.col_offset == 0, where
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                yield node.module.partition(".")[0], node.col_offset == 0, where
            elif isinstance(node, ast.Attribute) and node.attr in NEEDS:
                yield NEEDS[node.attr], False, where


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_what_a_distribution_imports_is_what_it_declares(name):
    here = PROJECTS[name] / "src"
    own = {path.name for path in here.iterdir()} | {"harvest"} | sys.stdlib_module_names
    always, optional = declared(name, extras=False), declared(name, extras=True)
    seen = set()
    for module, at_import, where in used(here):
        if module in own or module in LEFT_OPEN:
            continue
        if module == "harvest_toolkit":
            distributions = {TOOLKIT}
        elif module.startswith("harvest_"):
            beside = (ROOT / "src" / module).is_dir()
            distributions = {CORE if beside else canonicalize_name(f"hpc-{module}")}
        else:
            have_it = {other for other in optional if module in packages_of(other)}
            distributions = have_it or {canonicalize_name(module)}
        seen |= distributions
        open_to_both = module in MODULES_OF_THEIR_OWN or where.startswith("src/harvest_toolkit/")
        needed = always if at_import and not open_to_both else optional
        assert distributions & needed, f"{where} needs {module}"

    # and what it declares beyond the core's needs, it uses; tzdata is data
    extra = declared(name, extras=False) - declared(CORE, extras=False) - {CORE, "tzdata"}
    extra -= {"numpy", "zstandard"} if TOOLKIT in extra else set()
    assert extra <= seen


def brought(name: str, *extras: str) -> set[str]:
    """All distributions that come with one, by what each declares; those of ours in turn."""
    waiting, found = [(name, extras)], set()
    while waiting:
        name, extras = waiting.pop()
        found.add(name)
        if name in PROJECTS:
            project = tomllib.loads((PROJECTS[name] / "pyproject.toml").read_text())["project"]
            words = list(project["dependencies"])
            words += [w for e in extras for w in project["optional-dependencies"][e]]
            needed = [(canonicalize_name(r.name), tuple(r.extras)) for r in map(Requirement, words)]
            waiting += [each for each in needed if each[0] not in found or each[1]]
    return found


def test_who_reads_captures_gets_no_reader_of_mofka_s_files():
    found = brought("hpc-harvest-dask", "harvest")
    assert {"hpc-harvest-dask-runs", "msgpack"} <= found
    assert not found & {"hpc-harvest-mofka-dask", "pyyaml"}
    # and who captures gets nothing of harvest
    assert not {each for each in brought("hpc-harvest-dask") if each.startswith(CORE)} - {
        "hpc-harvest-dask"
    }


def test_record_types_of_dask_runs_are_there_without_dask():
    code = "import harvest_dask.records.types as types; print(len(types.CAPTURED_TYPES) > 0)"
    assert without(("dask", "distributed"), code) == "True\n"


HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in {names!r}:
            raise ModuleNotFoundError(f"no module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def without(names: tuple[str, ...], code: str, *arguments: str) -> str:
    """What code prints in a process in which these modules are not there."""
    words = [sys.executable, "-c", HIDE.format(names=names) + code, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


RUN = """
import harvest, sys
source, out = sys.argv[1:]
for policy in ("evolve", "freeze"):
    harvest.run(source, [f"parquet:{out}", f"jsonl:{out}.jsonl"], schema_drift=policy,
                workers=1, force=True)
dataset = harvest.open(out)
print({name: dataset[name].collect().height for name in dataset})
for name in dataset.views():
    dataset.view(name).collect()
"""


@pytest.mark.slow
@pytest.mark.parametrize("source", small_inputs.MAKERS)
def test_a_plugin_that_does_not_declare_numpy_works_without(source, tmp_path):
    needed = declared(f"{CORE}-{source}", extras=False)
    if "numpy" in needed or source == "dask":  # whose extra "harvest" declares it
        pytest.skip(f"{source} declares numpy, or the extra that does")
    small_inputs.write(tmp_path / "in", 1)
    hidden = ("numpy", "pandas", "duckdb", "matplotlib", "yaml")
    shown = without(hidden, RUN, f"{source}:{tmp_path / 'in' / source}", str(tmp_path / "out"))
    rows = ast.literal_eval(shown.splitlines()[0])
    assert rows
    assert all(count > 0 for count in rows.values())


TINY = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "tiny"
version = "1.0"
dependencies = ["hpc-harvest"]
[project.entry-points.harvest]
tiny = "tiny:Tiny"
[tool.hatch.build.targets.wheel]
packages = ["tiny.py"]
[tool.hatch.build.targets.wheel.force-include]
"tiny.py" = "tiny.py"
""",
    "tiny.py": '''
"""Lines of text files, with the number of letters in "extra"."""
import harvest
import polars as pl
from harvest.toolkit.frames import TEXT_MAP

@harvest.record("tiny.line", layer="workflow", level="client")
class Line(harvest.Record):
    """A line."""
    text: str

class Tiny(harvest.Source):
    """Lines of text files."""
    name, record_types = "tiny", (Line,)

    def read(self, partition, ctx):
        lines = partition.path.read_text().splitlines()
        extra = [[{"key": "letters", "value": str(len(line))}] for line in lines]
        columns = {"text": lines, "extra": extra}
        yield Line, pl.DataFrame(columns, schema_overrides={"extra": TEXT_MAP})
''',
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of the small plugin, and of the core, parquet and who reads captures."""
    pytest.importorskip("hatch_vcs", reason="wheels are built with hatch-vcs, of the extra dev")
    folder = tmp_path_factory.mktemp("wheels")
    tiny = tmp_path_factory.mktemp("tiny")
    for name, text in TINY.items():
        (tiny / name).write_text(text.lstrip())
    ours = (CORE, *(f"{CORE}-{name}" for name in ("parquet", "dask", "dask-runs")))
    build_wheels([*(PROJECTS[name] for name in ours), tiny], folder)
    return {wheel.name.partition("-")[0].replace("_", "-"): wheel for wheel in folder.iterdir()}


def ask(python: Path, folder: Path, *commands: str) -> list[subprocess.CompletedProcess[str]]:
    """What these commands say in an environment, all in one process."""
    return harvest_each(*map(str.split, commands), python=python, cwd=folder)


@pytest.mark.slow
def test_core_parquet_and_a_small_plugin_need_nothing_but_what_they_declare(tmp_path, wheels):
    # given an environment with these and a small plugin, what they declare, and no more
    ours = (CORE, f"{CORE}-parquet")
    installed = [wheels[name] for name in (*ours, "tiny")]
    python = make_environment(tmp_path / "venv", installed, declared_by(ours))
    absent = subprocess.run([python, "-I", "-c", "import numpy"], capture_output=True, check=False)
    assert absent.returncode == 1

    # when rows with a map of texts are harvested and shown
    (tmp_path / "a.txt").write_text("one\nthree\n")
    views = [f"view events out -o events.{end}" for end in ("csv", "jsonl", "parquet")]
    run = ("run -s tiny:a.txt -k parquet:out", "verify out", *views)
    done = ask(python, tmp_path, "preview -s tiny:a.txt --json", *run)

    # then the map is what the source gave
    assert [each for each in done if each.returncode] == []
    rows = [json.loads(line) for line in done[0].stdout.splitlines()]
    assert [(row["text"], row["extra"]) for row in rows] == [
        ("one", {"letters": "3"}),
        ("three", {"letters": "5"}),
    ]


@pytest.mark.slow
def test_captures_are_read_without_the_reader_of_mofka_s_files(tmp_path, wheels):
    # given an environment with hpc-harvest-dask[harvest] and a capture
    ours = (CORE, *(f"{CORE}-{name}" for name in ("dask", "dask-runs", "parquet")))
    installed = [wheels[name] for name in ours]
    python = make_environment(tmp_path / "venv", installed, declared_by(ours))
    captures.write(tmp_path / "R1", captures.example())

    # when it is harvested
    words = ("run -s dask:R1 -k parquet:out", "view dask.run_summary out", "report dask.run out",
             "view dask.tasks out -o tasks.txt", "findings out", "dask-runs trace out",
             "run -s mofka-dask:R1 -k parquet:o", "mofka-dask capture")  # fmt: skip
    *read, other, capture = ask(python, tmp_path, *words)

    # then views, reports and findings have it
    assert [done for done in read if done.returncode] == []
    # and what is missing is named
    assert all("install hpc-harvest-mofka-dask" in done.stderr for done in (other, capture))
