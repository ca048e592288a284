"""The first hour of two kinds of user, each on a terminal of 80 columns, with colour or without.

What they saw is written to the directory that HARVEST_TRANSCRIPTS names, to be read by people.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import attrs
import pytest

pytest.importorskip("pyte")
pytest.importorskip("duckdb")
pytest.importorskip("matplotlib")
from night import NIGHT
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


PLUGIN_AUTHOR = [
    Step("harvest plugins", ["mofka-dask", "parquet"]),
    Step("harvest plugins --help", ["new", "check"]),
    Step("harvest plugins new freezer --kind source", ["harvest-freezer"]),
    Step("ls harvest-freezer", ["pyproject.toml"]),
    Step(
        "cd harvest-freezer && PYTHONPATH=src python -m pytest -q -p no:cacheprovider",
        ["passed"],
    ),
    Step("cd harvest-freezer && python -m hatchling build -t wheel", [".whl"]),
    Step("python -m zipfile -e harvest-freezer/dist/*.whl site"),
    Step("PYTHONPATH=site harvest plugins", ["freezer"]),
    Step("PYTHONPATH=site harvest plugins check freezer"),
    Step("PYTHONPATH=site harvest plugins show freezer", ["freezer.measurement"]),
    Step(
        "PYTHONPATH=site harvest run -s freezer:harvest-freezer/tests/data -k jsonl:out",
        ["rows"],
        exit=3,  # the sample has a damaged line
    ),
    Step("PYTHONPATH=site harvest show out", ["freezer."]),
    Step("PYTHONPATH=site harvest rejects out", ["reason"]),
    Step("harvest show out", ["freezer"]),
]

COLOUR = {"colour": True, "plain": False}
USERS = {
    "dask-researcher": DASK_RESEARCHER,
    "plugin-author": PLUGIN_AUTHOR,
}
BY_DAY = [("dask-researcher", "colour")]
"""An author's commands are much like those of the tutorial, which are tried by day."""


@pytest.mark.parametrize(
    ("user", "colour"),
    [pytest.param(u, c, id=f"{u}-{c}") for u, c in (product(USERS, COLOUR) if NIGHT else BY_DAY)],
)
def test_the_first_hour(user, colour, tmp_path):
    # given a directory with the examples, and a terminal
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shutil.copytree(ROOT / "examples" / "dask-run", tmp_path / "dask-run")
    terminal = Terminal(tmp_path, colour=COLOUR[colour])

    # when the person types one command after the other
    hour = [(step, terminal.run(step.command)) for step in USERS[user]]

    # then each ends as it should, and shows what the person looks for, on 80 columns
    _write_transcript(f"{user}-{colour}.txt", hour)
    problems = [problem for step, shown in hour for problem in _problems(step, shown)]
    assert not problems, "\n".join(problems)
    assert any(shown.coloured for _, shown in hour) == COLOUR[colour]


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


def _write_transcript(name: str, hour: list[tuple[Step, Shown]]) -> None:
    folder = os.environ.get("HARVEST_TRANSCRIPTS")
    if folder:
        text = "".join(f"$ {step.command}\n{shown.text}[{shown.exit}]\n\n" for step, shown in hour)
        (Path(folder) / name).write_text(text, "utf-8")
