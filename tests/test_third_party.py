"""Plugins of strangers: found through their entry points, and harmless when broken."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

TEN_LINES = '''\
import harvest

@harvest.record("greeting.line", layer="workflow", level="client")
class Line(harvest.Record):
    """One line of a greeting file."""
    text: str = harvest.field(role="subject", doc="The line, without its end.")

class GreetingSource(harvest.Source):
    """Greeting files, line by line."""
    name, record_types = "greeting", (Line,)
    def read(self, partition, ctx):
        for line in partition.path.read_text().splitlines():
            yield Line(text=line)
'''


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


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A fresh virtual environment with three plugins of strangers: good, broken, too new.

    The libraries that harvest needs are seen through a path file, so that no index is needed.
    """
    folder = tmp_path_factory.mktemp("env")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    import harvest

    paths = {sysconfig.get_path("purelib"), str(Path(harvest.__file__).parents[1])}
    (site / "outer.pth").write_text(
        "".join(f"import site; site.addsitedir({path!r})\n" for path in sorted(paths))
    )
    wheels = [
        build_wheel(folder, "greeting", "greeting_harvest", TEN_LINES,
                    "greeting_harvest:GreetingSource"),
        build_wheel(folder, "broken", "broken_harvest", "import no_such_library\n",
                    "broken_harvest"),
        build_wheel(folder, "future", "future_harvest",
                    "harvest_api = 99\ndef harvest_sources(): return []\n", "future_harvest"),
    ]  # fmt: skip
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", *wheels], check=True
    )
    return python


def harvest_command(python, *arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
    return subprocess.run(
        [python, "-m", "harvest", *map(str, arguments)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip


def test_a_plugin_of_ten_lines_is_listed_with_what_it_offers(environment):
    listed = json.loads(harvest_command(environment, "plugins", "--json").stdout)

    (greeting,) = [p for p in listed["plugins"] if p["name"] == "greeting"]
    assert greeting["offers"] == {"sources": ["greeting"]}
    assert greeting["version"] == "1.0"


def test_it_emits_records(environment, tmp_path):
    (tmp_path / "hello.txt").write_text("good\nmorning\n")

    shown = harvest_command(
        environment, "preview", "-s", f"greeting:{tmp_path / 'hello.txt'}", "--json"
    )

    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [(r["text"], r["position"]) for r in rows] == [("good", 1), ("morning", 2)]
    assert rows[0]["origin"] == str(tmp_path / "hello.txt")
    assert shown.returncode == 0


def test_it_is_harvested_like_any_other(environment, tmp_path):
    pytest.importorskip("harvest_parquet")
    (tmp_path / "hello.txt").write_text("good\nmorning\n")

    done = harvest_command(
        environment, "run", "-s", f"greeting:{tmp_path / 'hello.txt'}",
        "-k", f"parquet:{tmp_path / 'out'}", "--json",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["record_types"] == {"greeting.line": 2}


def test_a_broken_plugin_is_shown_with_cause_and_remedy_and_harms_nothing(environment):
    done = harvest_command(environment, "plugins")

    assert done.returncode == 0
    assert "no_such_library" in done.stdout
    assert "remedy: reinstall or update broken" in done.stdout
    assert "greeting" in done.stdout


def test_a_plugin_for_another_api_is_refused(environment):
    done = harvest_command(environment, "plugins")

    assert "plugin API 99; this harvest offers 1" in done.stdout
    assert "update hpc-harvest" in done.stdout


def test_a_broken_plugin_is_fatal_only_when_asked_for(environment, tmp_path):
    done = harvest_command(environment, "preview", "-s", f"broken:{tmp_path}")

    assert done.returncode == 1
    assert "plugin 'broken' cannot be used" in done.stderr
    assert "Traceback" not in done.stderr


def test_plugins_are_disabled_by_name(environment):
    done = harvest_command(
        environment, "plugins", "--json", HARVEST_DISABLE_PLUGINS="broken,greeting"
    )

    listed = json.loads(done.stdout)
    names = {p["name"] for p in listed["plugins"]} | {b["name"] for b in listed["broken"]}
    assert not {"greeting", "broken"} & names
    assert listed["disabled"] == ["broken", "greeting"]
