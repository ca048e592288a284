"""Runs as recorders leave them, compared: against reading the CSVs."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

import harvest

pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")

SHARED = Path(__file__).resolve().parents[4] / "shared/data/mofka-dask"
REAL = ("D2024-04-19_19:01:00_R1_W8", "D2024-04-19_19:01:02_R6_W8")
ENDED = ("processing", "memory")

pytestmark = pytest.mark.slow


def durations(run: Path) -> dict[str, list[float]]:
    """How long executions took, by kind of tasks, as the scheduler's CSV has it."""
    found = defaultdict(list)
    for path in run.glob("scheduler_transition*.csv"):
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines):
                if (row["start"], row["finish"]) == ENDED:
                    found[row["prefix"]].append(float(row["duration"]))
    return dict(found)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the real runs in ../shared")
def test_two_real_runs_differ_as_their_csvs_do(tmp_path):
    first, second = (SHARED / name for name in REAL)
    out = tmp_path / "out"
    harvest.run([f"mofka-dask:{first}", f"mofka-dask:{second}"], f"parquet:{out}", workers=1)
    dataset = harvest.open(out)

    rows = dataset.view("dask.compare", runs=REAL, equal=True).collect().to_dicts()

    found = {(r["name"], r["measure"]): r for r in rows if r["part"] == "prefix"}
    before, after = durations(first), durations(second)
    for prefix in before | after:
        total, count = found[prefix, "total_s"], found[prefix, "executions"]
        assert total["before"] == pytest.approx(sum(before[prefix]))
        assert total["after"] == pytest.approx(sum(after[prefix]))
        assert (count["before"], count["after"]) == (len(before[prefix]), len(after[prefix]))
