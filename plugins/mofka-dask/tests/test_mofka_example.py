"""The example run is what its script makes, and looks like a real one."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from harvest_mofka_dask.memory import harvest_directory

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RUN = EXAMPLES / "dask-run/D2024-05-06_07:08:09_R1_W4"


def contents(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(directory.iterdir())}


def read(name: str) -> list[dict[str, str]]:
    with (RUN / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_script_makes_the_shipped_files(tmp_path):
    script = EXAMPLES / "make_run.py"
    subprocess.run([sys.executable, "-B", script, tmp_path], check=True, capture_output=True)
    assert contents(tmp_path / RUN.name) == contents(RUN)


def test_it_is_small():
    assert sum(len(data) for data in contents(RUN).values()) < 150_000


def test_everything_in_it_is_read():
    found = harvest_directory(RUN)
    assert found.rejects == ()
    (summary,) = found.summary().to_dicts()
    assert summary["tasks"] == 58
    assert summary["erred_tasks"] == 1
    assert summary["data_failures"] == 1
    assert summary["silent_workers"] == ["tcp://10.9.0.22:40202"]
    assert summary["completeness_notes"] == [
        "1 of 4 registered workers reported no events: tcp://10.9.0.22:40202; "
        "silence there is not idleness",
        "the scheduler credits executions to 1 worker that reported no events",
        "1 event was lost in the consumer",
    ]


def test_about_two_fifths_of_transfers_repeat():
    rows = read("worker_transfer.csv")
    unique = {tuple(v for k, v in row.items() if k not in ("", "time")) for row in rows}
    assert 0.3 < 1 - len(unique) / len(rows) < 0.5


def test_states_follow_on_each_other():
    last: dict[str, str] = {}
    for row in read("scheduler_transition.csv"):
        assert row["start"] == last.get(row["key"], "released")
        last[row["key"]] = row["finish"]
    assert set(last.values()) == {"forgotten"}


def test_executions_fit_the_workers_own_account():
    transitions = read("worker_transition.csv")
    executing = {
        (row["key"], row["called_from"]) for row in transitions if row["finish"] == "executing"
    }
    reporting = {row["called_from"] for row in transitions}
    for row in read("scheduler_transition.csv"):
        if row["worker"] in reporting:
            assert (row["key"], row["worker"]) in executing
