"""The first hour of a researcher on a terminal of 80 columns, with colour or without.

The first hour of a plugin's author is that of the tutorial, which test_newcomer.py follows.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

pytest.importorskip("pyte")
pytest.importorskip("duckdb")
pytest.importorskip("matplotlib")
from terminal import COLUMNS, Shown, Terminal

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
TO_COPY = re.compile(r"^\s*(see\s+)?harvest (?!:)|^\s*(sacct|pip|mmapplypolicy) ")
"""Commands to be copied stand in one line, however long."""


@attrs.frozen
class Step:
    """A command that a person types, what they must find in what it shows, and its exit code."""

    command: str
    finds: Sequence[str] = ()
    exit: int = 0


DASK_RESEARCHER = [
    Step("harvest --help", ["look", "findings"]),
    Step("harvest look dask-run", ["mofka-dask", "harvest run"]),
    Step("harvest look dask-run --run out", ["committed", "dask.run_summary", "dask.run"]),
    Step("harvest show out", ["dask.task_transition", "harvest report dask.run"]),
    Step("harvest findings out", ["finding", "next:", "--show"]),
    Step("harvest view dask.tasks out", ["20 of "]),
    Step("harvest view dask.task out", ["dask.tasks"], exit=2),
    Step("harvest view dask.workers out", ["tcp://"]),
    Step("harvest view dask.tasks out --exact --columns key,prefix,duration_s -n 3", ["3 of "]),
    Step("harvest schema dask.tasks", ["column", "meaning"]),
    Step("harvest report dask.run out", ["Workers"]),
    Step("harvest report dask.run out -o run.html", ["run.html"]),
    Step("harvest query out 'show tables'", ["dask.tasks", "view"]),
    Step("harvest query out 'select prefix, count(*) as n from dask.tasks group by all'", ["n"]),
    Step("harvest run -s mofka-dask:dask-run -k parquet:out", ["nothing new"]),
]


@pytest.mark.parametrize("colour", [True, False], ids=["colour", "plain"])
def test_the_first_hour(colour, tmp_path):
    # given a directory with a run, and a terminal
    shutil.copytree(ROOT / "examples" / "dask-run", tmp_path / "dask-run")
    terminal = Terminal(tmp_path, colour=colour)

    # when the person types one command after the other
    shown = terminal.run(*(step.command for step in DASK_RESEARCHER))
    hour = list(zip(DASK_RESEARCHER, shown, strict=True))

    # then each ends as it should, and shows what the person looks for, on 80 columns
    problems = [problem for step, shown in hour for problem in _problems(step, shown)]
    assert not problems, "\n".join(problems)
    assert any(shown.coloured for _, shown in hour) == colour


def _problems(step: Step, shown: Shown) -> list[str]:
    found = []
    if shown.exit != step.exit:
        found.append(f"exit code {shown.exit}, not {step.exit}")
    found += [f"not shown: {word!r}" for word in step.finds if word not in shown.text]
    if "Traceback" in shown.text:
        found.append("a traceback")
    wide = "--wide" in step.command
    found += [
        f"longer than the terminal: {line!r}"
        for line in shown.lines
        # a word is not broken, as the path of a file
        if len(line) > COLUMNS and len(line.split()) > 1 and not wide and not TO_COPY.match(line)
    ]
    return [f"$ {step.command}\n  {problem}" for problem in found]
