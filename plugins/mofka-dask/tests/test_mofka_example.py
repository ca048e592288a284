"""The example run is what its script makes, and looks like a real one."""

from __future__ import annotations

from pathlib import Path

from scripts import run_script

from harvest_mofka_dask.memory import harvest_directory

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RUN = EXAMPLES / "dask-run/D2024-05-06_07:08:09_R1_W4"


def contents(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(directory.iterdir())}


def test_the_script_makes_the_shipped_files(tmp_path):
    run_script(EXAMPLES / "make_run.py", tmp_path)
    assert contents(tmp_path / RUN.name) == contents(RUN)


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
        "the scheduler recorded executions on 1 worker without events",
        "1 event was lost in the consumer",
    ]
