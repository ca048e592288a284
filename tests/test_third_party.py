"""Plugins of strangers: found through their entry points, and harmless when broken."""

import base64
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import duckdb
import pytest
from clean_environment import build_wheels, make_environment
from commands import harvest_each, harvest_here
from greeting import TEN_LINES

import harvest
from harvest_testing.scaffold import scaffold

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples" / "plugins").glob("harvest-*"))


def build_wheel(folder: Path, name: str, module: str, code: str, target: str) -> Path:
    """A wheel, written by hand: it needs no build tool and no index."""
    files = {
        f"{module}.py": code,
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}-1.0.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{name}-1.0.dist-info/entry_points.txt": f"[harvest]\n{name} = {target}\n",
    }
    record = "".join(f"{path},sha256={digest(text)},{len(text)}\n" for path, text in files.items())
    files[f"{name}-1.0.dist-info/RECORD"] = record + f"{name}-1.0.dist-info/RECORD,,\n"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, text in files.items():
            wheel.writestr(member, text)
    return path


def digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """A clean virtual environment with harvest's wheels and plugins of strangers.

    These are the example plugins, one that `harvest plugins new` wrote, and three by hand: good,
    broken, too new.  The workers of one test run share it.
    """
    pytest.importorskip("hatch_vcs", reason="wheels are built with hatch-vcs, of the extra dev")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "third-party"
    with (shared / "third-party.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            furnish(folder)
            (folder / "ready").touch()
    return folder / "venv" / "bin" / "python"


def furnish(folder: Path) -> None:
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    scaffold("made-up", ["source"], folder)
    ours = ("parquet", "jsonl", "testing")
    roots = [ROOT, *(ROOT / "plugins" / name for name in ours), *EXAMPLES]
    roots.append(folder / "harvest-made-up")
    build_wheels(roots, wheels)
    build_wheel(wheels, "greeting", "greeting_harvest", TEN_LINES,
                "greeting_harvest:GreetingSource")  # fmt: skip
    build_wheel(wheels, "broken", "broken_harvest", "import no_such_library\n", "broken_harvest")
    future = "harvest_api = 99\ndef harvest_sources(): return []\n"
    build_wheel(wheels, "future", "future_harvest", future, "future_harvest")
    make_environment(folder / "venv", sorted(wheels.iterdir()))


def ask(python, *commands):
    """What commands say in that environment."""
    return harvest_each(*commands, python=python, cwd=python.parent)


@pytest.fixture(scope="module")
def answers(environment, tmp_path_factory):
    """The plugins for programs and for people, and what becomes of a broken one that is used."""
    preview = ("preview", "-s", f"broken:{tmp_path_factory.mktemp('empty')}")
    return ask(environment, ("plugins", "--json"), ("plugins",), preview)


def test_example_plugins_and_a_new_one_are_listed(answers):
    listed = json.loads(answers[0].stdout)
    offers = {p["name"]: p["offers"] for p in listed["plugins"]}

    assert offers["node-exporter"] == {"sources": ["node-exporter"]}
    assert offers["duckdb"] == {"sinks": ["duckdb"]}
    assert offers["csv-folder"] == {"exporters": ["csv-folder"]}
    assert offers["freshness"] == {"hears": ["commits"]}
    assert offers["made-up"] == {"sources": ["made-up"]}
    assert offers["greeting"] == {"sources": ["greeting"]}  # of ten lines


def test_an_example_source_is_harvested_into_an_example_sink_and_ours(environment, tmp_path):
    sample = ROOT / "examples/plugins/harvest-node-exporter/tests/data/node.prom"
    database, folder = tmp_path / "out.duckdb", tmp_path / "out"
    run = ["run", "-s", f"node-exporter:{sample}", "--json"]
    run += ["-k", str(database), "-k", f"parquet:{folder}", "-k", f"jsonl:{folder}.jsonl"]
    places = (database, folder, f"{folder}.jsonl")

    first, again, *verified = ask(environment, run, run, *(("verify", p) for p in places))

    assert first.returncode == 3, first.stderr  # one line of the sample is broken
    assert json.loads(first.stdout)["record_types"] == {"node_exporter.sample": 9}
    assert again.returncode == 0, again.stderr
    assert [done.returncode for done in verified] == [0, 0, 0]
    asked = """select labels['mode'], value from "node_exporter.sample" where labels['cpu'] = '0'"""
    with duckdb.connect(database) as connection:
        assert connection.execute(asked).fetchall() == [("idle", 184290.52), ("user", 2300.0)]


@pytest.mark.slow(night=True)
@pytest.mark.parametrize("project", EXAMPLES, ids=lambda path: path.name)
def test_example_plugins_pass_their_own_tests(project, environment, tmp_path):
    shutil.copytree(project / "tests", tmp_path / "tests")
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    variables.pop("PYTHONPATH", None)
    variables["PYTEST_DEBUG_TEMPROOT"] = str(tmp_path)

    done = subprocess.run(
        [environment, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "tests"],
        cwd=tmp_path, capture_output=True, text=True, env=variables, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout


@pytest.mark.slow(night=True)
@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("node-exporter", 2),
        ("duckdb", 30),
        ("made-up", 2),
        ("csv-folder", 1),
        ("freshness", 1),
    ],
)
def test_installed_plugins_keep_what_can_be_tried(name, kept, environment):
    (done,) = ask(environment, ("plugins", "check", name, "--json"))

    found = json.loads(done.stdout)[name]
    assert [f for f in found if f["result"] == "broken"] == []
    assert sum(f["result"] == "kept" for f in found) >= kept
    assert done.returncode == 0


def test_a_dataset_whose_plugin_is_not_installed_says_which_wrote_it(environment, tmp_path):
    # given rows of a plugin, and another environment that never had it
    (tmp_path / "hello.txt").write_text("good\nmorning\n")
    location = f"greeting:{tmp_path / 'hello.txt'}"
    ask(environment, ("run", "-s", location, "-k", f"parquet:{tmp_path / 'out'}"))
    words = "'greeting.line'; install greeting, which wrote its rows"

    # when its rows are asked for, then the distribution to install is named
    query = 'select count(*) from "greeting.line"'
    for asked in (("view", "events", tmp_path / "out"), ("query", tmp_path / "out", query)):
        done = harvest_here(*asked)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr
    with pytest.raises(KeyError, match=words):
        harvest.open(tmp_path / "out")["greeting.line"]

    # and files that cannot be checked are not said to be sound; what needs no columns works
    verified = harvest_here("verify", tmp_path / "out")
    assert verified.returncode == 1
    assert words in verified.stdout
    shown = harvest_here("show", tmp_path / "out")
    assert shown.returncode == 0, shown.stderr


def test_a_broken_plugin_is_shown_with_cause_and_remedy_and_harms_nothing(answers):
    _, done, _ = answers

    assert done.returncode == 0
    assert "no_such_library" in done.stdout
    assert "remedy: reinstall or update broken" in done.stdout
    assert "greeting" in done.stdout


def test_a_broken_plugin_is_fatal_only_when_asked_for(answers):
    *_, done = answers

    assert done.returncode == 1
    assert "plugin 'broken' cannot be used" in done.stderr
    assert "Traceback" not in done.stderr
