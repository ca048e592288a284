"""Runs as recorders leave them, one kind of tasks made twice as slow: against reading the CSVs."""

from __future__ import annotations

import csv
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

import harvest

pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")

REPOSITORY = Path(__file__).resolve().parents[3]
EXAMPLE = REPOSITORY / "examples" / "dask-run"
SHARED = REPOSITORY.parent / "shared" / "data" / "mofka-dask"
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


def made_slower(run: Path, target: Path, prefix: str) -> None:
    """A copy of a run in which all tasks of a kind took twice as long."""
    shutil.copytree(run, target)
    for path in target.glob("scheduler_transition*.csv"):
        with path.open(newline="") as lines:
            rows = csv.DictReader(lines)
            header, changed = rows.fieldnames or [], [*rows]
        for row in changed:
            if row["prefix"] == prefix and (row["start"], row["finish"]) == ENDED:
                row["duration"] = repr(2 * float(row["duration"]))
                row["ends"] = repr(float(row["begins"]) + float(row["duration"]))
        with path.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, header)
            writer.writeheader()
            writer.writerows(changed)


def compared(first: Path, second: Path, out: Path) -> harvest.Dataset:
    harvest.run([f"mofka-dask:{first}", f"mofka-dask:{second}"], f"parquet:{out}", workers=1)
    return harvest.open(out)


@pytest.mark.parametrize("prefix", ["load", "sum-partial"])
def test_the_kind_that_was_made_twice_as_slow_is_named_first(tmp_path, prefix):
    (run,) = (path for path in EXAMPLE.iterdir() if path.is_dir())
    made_slower(run, tmp_path / "slower", prefix)
    dataset = compared(run, tmp_path / "slower", tmp_path / "out")

    report = dataset.report("dask.compare", runs=(run.name, "slower"))

    kinds = report.only("kinds").tables[0].rows
    longer = sum(durations(run)[prefix])
    assert kinds["name"][0] == prefix
    assert kinds["difference"][0] == pytest.approx(longer)
    assert f"{prefix} took " in report.intro[0]
    others = [other for other in durations(run) if other != prefix]
    assert not any(f"{other} took " in report.intro[0] for other in others)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the real runs in ../shared")
def test_two_real_runs_differ_as_their_csvs_do(tmp_path):
    first, second = (SHARED / name for name in REAL)
    dataset = compared(first, second, tmp_path / "out")

    rows = dataset.view("dask.compare", runs=REAL, equal=True).collect().to_dicts()

    found = {(r["name"], r["measure"]): r for r in rows if r["part"] == "prefix"}
    before, after = durations(first), durations(second)
    for prefix in before | after:
        total, count = found[prefix, "total_s"], found[prefix, "executions"]
        assert total["before"] == pytest.approx(sum(before[prefix]))
        assert total["after"] == pytest.approx(sum(after[prefix]))
        assert (count["before"], count["after"]) == (len(before[prefix]), len(after[prefix]))
