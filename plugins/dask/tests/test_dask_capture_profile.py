"""Profiles of workers, and the environment in which Darshan traces them."""

from __future__ import annotations

import os
import pstats
from pathlib import Path

import dask_work as work
import pytest

import harvest_dask


@pytest.mark.slow
def test_each_worker_leaves_a_profile_of_what_its_tasks_called(tmp_path: Path) -> None:
    pytest.importorskip("yappi")
    # given two workers, each of which waits in a function of the tests
    with work.cluster(2) as client, harvest_dask.capture(client, tmp_path / "R1", yappi="wall"):
        for worker in client.scheduler_info()["workers"]:
            client.submit(work.spend, 0.05, workers=worker, pure=False).result()

    # then both saves hold that function, and nothing half written is left
    saves = sorted((tmp_path / "R1").glob("yappi-*.pstat"))
    assert len(saves) == 2
    for save in saves:
        found = pstats.Stats(str(save)).stats  # type: ignore[attr-defined]
        (spent,) = [v for (_, _, name), v in found.items() if name == "spend"]
        assert spent[0] == 1
        assert spent[3] >= 0.05
        assert "name" in Path(f"{str(save)[: -len('.pstat')]}.threads.txt").read_text()
    assert list((tmp_path / "R1").glob("*.part")) == []


@pytest.mark.slow
def test_workers_begin_with_darshans_environment(tmp_path: Path) -> None:
    # given a library that any process may load, in the place of Darshan's
    (library,) = Path("/lib").rglob("libm.so.6")
    environment = harvest_dask.darshan_environment(tmp_path / "logs", library)

    with work.cluster(1, {"env": environment}) as client:
        (found,) = client.run(lambda: dict(os.environ)).values()

    assert found["LD_PRELOAD"] == str(library)
    assert found["DARSHAN_LOG_DIR_PATH"] == str(tmp_path / "logs")
    assert (found["DARSHAN_ENABLE_NONMPI"], found["DXT_ENABLE_IO_TRACE"]) == ("1", "1")
