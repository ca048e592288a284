"""What the code itself must not do: run what it reads, or build commands from it."""

import ast
import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])

RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
UNPICKLES = {
    "pickle",
    "cPickle",
    "_pickle",
    "cloudpickle",
    "dill",
    "shelve",
    "joblib",
    "jsonpickle",
}
SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}
MARSHAL = {"plugins/yappi/src/harvest_yappi/unmarshal.py"}
"""In a process of its own, with limits; marshal makes values and runs nothing."""
OWN_PICKLES = ("plugins/testing/src/", "src/harvest/engines/", "src/harvest/worker.py")
"""No input: the conformance kit pickles a plugin's own objects, to see that they can travel; a
worker process and the process that started it send each other tasks and results."""
EXPLAINED = {
    ("plugins/yappi/src/harvest_yappi/unmarshal.py", "B302"): "see MARSHAL",
    ("plugins/dask/src/harvest_dask/records/captures/dump.py", "B506"): "the loader is a safe one",
    ("plugins/serve/src/harvest_serve/guard.py", "B104"): "the address is compared",
    ("plugins/serve/src/harvest_serve/server.py", "B104"): "the address is compared",
    ("plugins/serve/src/harvest_serve/pages/render.py", "B704"): "the text was escaped",
    ("src/harvest_report/draw.py", "B314"): "the XML that is parsed is matplotlib's own output",
}
"""What bandit points at although it is right, and why."""


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Every call and import in a file."""
    wanted = ast.Call | ast.Import | ast.ImportFrom
    return [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, wanted)]


@functools.cache
def calls(path: Path) -> list[tuple[str, ast.Call]]:
    """Every call in a file, with the name that is called, as ``os.system``."""
    return [(ast.unparse(n.func), n) for n in nodes(path) if isinstance(n, ast.Call)]


def imports(path: Path) -> set[str]:
    """The top-level packages that a file imports."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_nothing_runs_text_as_code() -> None:
    found = [
        f"{where(path)}:{node.lineno} {name}"
        for path in SOURCES
        for name, node in calls(path)
        if name in RUNS_TEXT
    ]
    assert found == []


def test_nothing_unpickles() -> None:
    looked_at = [path for path in SOURCES if not where(path).startswith(OWN_PICKLES)]
    found = {where(path): imports(path) & UNPICKLES for path in looked_at}
    assert {path: names for path, names in found.items() if names} == {}
    assert {where(path) for path in SOURCES if "marshal" in imports(path)} == MARSHAL


def test_arrays_are_never_loaded_with_pickles_in_them() -> None:
    for path in SOURCES:
        for name, node in calls(path):
            assert name not in ("np.load", "numpy.load"), where(path)
            allowed = [k for k in node.keywords if k.arg == "allow_pickle"]
            assert not allowed, where(path)


def test_programs_are_started_without_a_shell() -> None:
    for path in SOURCES:
        for name, node in calls(path):
            assert name not in SHELLS, f"{where(path)}:{node.lineno}"
            assert not any(k.arg == "shell" for k in node.keywords), f"{where(path)}:{node.lineno}"
            if name.startswith("subprocess."):
                # an argument vector: never one string that something would have to split
                assert not isinstance(node.args[0], (ast.Constant, ast.JoinedStr, ast.BinOp)), (
                    f"{where(path)}:{node.lineno}"
                )


def test_yaml_is_read_by_a_safe_loader() -> None:
    import yaml

    from harvest_mofka_dask.read import configs

    for path in SOURCES:
        for name, _ in calls(path):
            if name in ("yaml.load", "yaml.load_all"):
                # with loaders that make plain values of all tags
                assert where(path).endswith(("read/configs.py", "captures/dump.py"))
            assert name not in ("yaml.unsafe_load", "yaml.full_load"), f"{where(path)}"
    classes = [each for each in vars(configs).values() if isinstance(each, type)]
    (loader,) = (each for each in classes if issubclass(each, yaml.reader.Reader))
    assert issubclass(loader, yaml.SafeLoader)
    assert not issubclass(loader, (yaml.FullLoader, yaml.UnsafeLoader))


@pytest.mark.skipif(importlib.util.find_spec("bandit") is None, reason="bandit is not installed")
@pytest.mark.slow(night=True)
def test_bandit_finds_nothing_that_is_not_explained() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bandit", "-q", "-r", "src", "plugins", "-f", "json",
         "-x", "*/tests/*,*/build/*", "-s", "B101,B404,B603,B607,B608",
         "--severity-level", "medium"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    results = json.loads(done.stdout)["results"]
    assert results, "bandit looked at nothing: it knows of the explained ones, too"
    found = [
        f"{r['filename']}:{r['line_number']} {r['test_id']} {r['issue_text']}"
        for r in results
        if (r["filename"], r["test_id"]) not in EXPLAINED
        and not (r["filename"].startswith(OWN_PICKLES) and r["test_id"] in ("B301", "B403"))
    ]
    assert found == []
