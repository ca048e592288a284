"""The kit in pytest: failures told in words."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

SOURCE = '''
import harvest
from harvest import Record, Source, field

@harvest.record("golden.line", layer="workflow", level="client")
class Line(Record):
    """One line."""
    text: str = field(role="subject", doc="The line.")
    number: float | None = field(doc="It as a number.")

class LineSource(Source):
    """Lines."""
    name, record_types = "golden-lines", (Line,)
    def read(self, partition, ctx):
        for number, line in enumerate(partition.path.read_text().splitlines(), 1):
            ctx.read(1)
            if line == "bad":
                ctx.reject(line, "a bad line", position=number)
            else:
                yield Line(text=line, number=1.5, position=number)
'''
TESTS = """
from golden_lines import LineSource
from harvest_testing import SourceConformance

class TestLines(SourceConformance):
    source = LineSource
    units = 3
    def sample(self, directory):
        (directory / "a.txt").write_text("good\\nbad\\n")
        return directory
"""
LOADED = any(p.value == "harvest_testing.pytest_plugin" for p in entry_points(group="pytest11"))
"""Whether the plugin is found by itself, as it is where harvest was installed."""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "golden_lines.py").write_text(SOURCE)
    (tmp_path / "test_lines.py").write_text(TESTS)
    return tmp_path


def run_pytest(project, *arguments):
    plugin = [] if LOADED else ["-p", "harvest_testing.pytest_plugin"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *arguments],
        cwd=project, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(project), "PYTEST_DEBUG_TEMPROOT": str(project)},
    )  # fmt: skip


def test_the_plugin_imports_nothing_large():
    """Every pytest run where harvest is installed imports it."""
    code = "import sys, harvest_testing.pytest_plugin; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert not {"pyarrow", "numpy", "polars", "cattrs"} & set(done.stdout.split())


@pytest.mark.slow
def test_a_broken_promise_is_told_in_words(project):
    done = run_pytest(project, "-k", "accounting")

    assert done.returncode == 1
    told = done.stdout.partition("test_accounting_adds_up")[2]
    assert "promise: every unit read becomes a row or a reject" in told
    assert "seen:    2 units are accounted for; the class says that the sample has 3" in told
    assert "remedy:  find the units" in told
    assert "def test_accounting_adds_up" not in told
