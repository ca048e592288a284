"""A capture that is read while its processes still write it."""

import threading
from pathlib import Path
from typing import Any

import captures
import pytest

import harvest
from harvest.recipes.recipe import Endpoint, Recipe

pytest.importorskip("harvest_watch", reason="it harvests again as files grow")

from harvest_watch.loop import Lines, WatchOptions, watch

DATA = {name: captures.frames(contents) for name, contents in captures.example().items()}
WORKER = "worker-node2-9"


def rows_of(dataset: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of a dataset by record type, in order."""
    found = harvest.open(dataset)
    return {
        name: found[name].collect().sort("origin", "position").drop("origin").to_dicts()
        for name in found
    }


def written(run: Path, sizes: dict[str, int]) -> Path:
    """The example's files up to so many bytes each."""
    captures.write(run, {})
    for name, size in sizes.items():
        (run / f"{name}.cap").write_bytes(DATA[name][:size])
    return run


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.3, 0.55, 0.8])
def test_each_harvest_has_what_was_whole_then_and_the_last_one_has_all(tmp_path, step):
    # given a run that is harvested when a part of each file is written
    source, out = f"dask:{tmp_path / 'R1'}", tmp_path / "out"
    written(tmp_path / "R1", {name: int(len(data) * step) for name, data in DATA.items()})
    result = harvest.run([source], f"parquet:{out}")
    assert not result.account.rejected
    lost = {row["message"] for row in rows_of(out)["dask.log_event"] if row["kind"] == "lost"}
    assert len(lost) == 3

    # when it has ended, but for the worker that never does, then nothing is there twice
    written(tmp_path / "R1", {name: len(data) for name, data in DATA.items()})
    harvest.run([source], f"parquet:{out}")
    fresh = tmp_path / "fresh"
    harvest.run([source], f"parquet:{fresh}")
    assert rows_of(out) == rows_of(fresh)
    (still,) = [r for r in rows_of(out)["dask.log_event"] if r["kind"] == "lost"]
    assert still["worker"] == captures.WORKER


class Growing(Lines):
    """Takes a step, on another thread, whenever a watch has committed."""

    def __init__(self, *steps: Any):
        super().__init__()
        self.steps = list(steps)
        self.timers: list[threading.Timer] = []

    def committed(self, result: Any) -> None:
        if self.steps:
            self.timers.append(threading.Timer(0.1, self.steps.pop(0)))
            self.timers[-1].start()


@pytest.mark.slow
def test_a_watch_follows_a_capture_as_it_grows_and_gains_processes(tmp_path):
    # given a capture with a scheduler alone
    run, out = tmp_path / "R1", tmp_path / "out"
    sizes = {"scheduler-node1-7": 900}
    written(run, sizes)

    # when a worker joins, both grow, and a client comes, each after a commit
    growing = Growing(
        lambda: written(run, {**sizes, WORKER: 300}),
        lambda: written(run, {"scheduler-node1-7": 1800, WORKER: 600}),
        lambda: written(run, {name: len(data) for name, data in DATA.items()}),
    )
    recipe = Recipe(
        sources=(Endpoint("dask", str(run)),), sinks=(Endpoint("parquet", str(out)),), workers=1
    )
    options = WatchOptions(every_s=0.1, settle_s=0.0, until_idle_s=2.0)
    watch(recipe, options, growing)
    for timer in growing.timers:
        timer.join()

    # then the dataset is that of a fresh harvest
    assert not growing.steps
    harvest.run([f"dask:{run}"], f"parquet:{tmp_path / 'fresh'}")
    assert rows_of(out) == rows_of(tmp_path / "fresh")
