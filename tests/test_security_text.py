"""Names from data are text, whatever they hold: on terminals, in pages, in spreadsheets."""

import csv
import unicodedata
from pathlib import Path

import pytest
from commands import harvest_here

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202egnp<script>alert(1)</script>\"'onload=x "
STEERS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that steer a terminal or reorder what it shows."""
FORMULAS = ("=1+1", "+1", "-1+1|cmd", "@SUM(A1)", "\t=1")


def harvest(*arguments: object) -> str:
    done = harvest_here(*arguments)
    assert done.returncode in (0, 1, 2, 3), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory of which every name is hostile."""
    folder = tmp_path_factory.mktemp("hostile") / f"run {EVIL.replace('/', '')}"
    folder.mkdir()
    quoted = EVIL.replace('"', '""')
    keys = [f"{formula}{number}" for number, formula in enumerate(FORMULAS)]
    lines = [",key,start,finish,called_from,time"]
    lines += [f'{n},"{key}",released,waiting,h,{1 + n}.5' for n, key in enumerate(keys)]
    lines += [f'9,"{quoted}",released,"{quoted}","{quoted}",9.5', f'10,"{quoted}",a']
    (folder / "worker_transition.csv").write_text("\n".join(lines) + "\n")
    (folder / "consumer.o").write_text(f"data failure: {EVIL}\n")
    (folder / f"a{EVIL.replace('/', '')}.yaml").write_text("a: 1\n")
    return folder


@pytest.fixture(scope="module")
def dataset(hostile: Path) -> Path:
    out = hostile.parent / "out"
    harvest("run", "-s", f"mofka-dask:{hostile}", "-k", f"parquet:{out}")
    return out


@pytest.mark.slow
def test_no_command_steers_the_terminal(hostile: Path, dataset: Path) -> None:
    again = f"mofka-dask:{hostile}"
    for arguments in (
        ["preview", "-s", again],
        ["run", "-s", again, "-k", f"parquet:{dataset}", "--force"],
        ["run", "-s", again, "-k", f"parquet:{dataset}", "--dry-run"],
        ["run", "-s", again, "-k", f"parquet:{dataset}", "--on-error", "fail", "--force"],
        ["run", "-s", f"mofka-dask:{hostile}{EVIL}", "-k", f"parquet:{dataset}"],
        ["detect", hostile],
        ["view", "dask.worker_transition", dataset],
        ["view", "dask.tasks", dataset],
        ["query", dataset, 'select * from "dask.worker_transition"'],
        ["rejects", dataset],
        ["runs", dataset],
        ["verify", f"{dataset}{EVIL}"],
    ):
        said = harvest(*arguments)
        assert said
        steering = {c for c in said if unicodedata.category(c) in STEERS and c != "\n"}
        assert steering == set(), arguments


@pytest.mark.slow
def test_spreadsheets_get_no_formula(dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    harvest("query", dataset, 'select * from "dask.worker_transition"', "-o", target)
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(FORMULAS) + 1
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    # and nothing of the names is lost: the apostrophe stands before them
    assert {row["key"] for row in rows} >= {f"'{f}{n}" for n, f in enumerate(FORMULAS)}
