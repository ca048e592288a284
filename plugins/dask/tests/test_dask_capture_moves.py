"""Work that moves while it is captured: stolen tasks, workers that come, go and are restarted."""

import json
import time
from collections import Counter
from pathlib import Path

import cap_reader as cap
import dask_work as work
import pytest
from distributed import wait

from harvest_dask import capture


@pytest.mark.slow
def test_stealing_adaptive_scaling_and_a_restart_are_recorded_once(tmp_path: Path) -> None:
    # given one worker whose tasks wait until an adaptive cluster has added a second one
    stealing = {
        "distributed.deploy.lost-worker-timeout": "1 hour",  # or a slow restart is a lost worker
        "distributed.scheduler.work-stealing": True,
        "distributed.scheduler.worker-saturation": "inf",  # or tasks wait where none is stolen
    }
    mark = tmp_path / "two workers"
    with work.cluster(1, **stealing) as client, capture(client, tmp_path / "R1"):
        adaptive = client.cluster.adapt(minimum=1, maximum=2, interval="50ms", wait_count=2)
        held = [client.submit(work.wait_for, str(mark), pure=False) for _ in range(30)]
        work.until(lambda: len(client.scheduler_info()["workers"]) == 2)
        mark.touch()
        wait(held)
        del held
        work.until(lambda: len(client.scheduler_info()["workers"]) == 1)
        adaptive.stop()  # or it retires the workers while they restart
        client.cluster.scale(2)
        client.wait_for_workers(2)

        # when the workers are restarted, and one is given work that the other may do as well
        client.restart()
        last = set(client.scheduler_info()["workers"])
        wait(client.submit(work.spend, 0.1, pure=False))
        wait([
            client.submit(
                work.spend, 0.1, pure=False, workers=min(last), allow_other_workers=True
            )
            for _ in range(40)
        ])  # fmt: skip
        logged = client.run_on_scheduler(work.scheduler_log)
        said = client.get_events("stealing")

    # then the scheduler's record is its own log, each transition once
    (path,) = cap.files(tmp_path / "R1", "scheduler")
    frames, cut = cap.read_frames(path)
    assert cut == 0
    rows = cap.rows(frames, "scheduler_transition")
    columns = ("key", "start_state", "finish_state", "stimulus_id")
    found = Counter(tuple(row[name] for name in columns) for row in rows)
    counts = Counter(logged)  # what followed the log is the end of the capture
    assert {transition: found[transition] for transition in counts} == counts

    # and all workers came, and all but the last ones went; each left a file
    events = cap.rows(frames, "worker_event")
    came = {e["worker"] for e in events if e["action"] == "add"}
    went = {e["worker"] for e in events if e["action"] == "remove"}
    assert len(came) >= 4
    assert came - went == last
    files = [cap.read_frames(path)[0] for path in cap.files(tmp_path / "R1", "worker")]
    assert {f[0]["address"] for f in files} == came
    assert {f[-1]["kind"] for f in files if f[0]["address"] in last} == {"end"}

    # and tasks were stolen, as Dask's own events say
    rows = cap.rows(frames, "event")
    steals = [json.loads(row["message"]) for row in rows if row["topic"] == "stealing"]
    known = json.loads(json.dumps([message for _, message in said]))
    assert steals[: len(known)] == known != []  # what followed is the end of the capture
    # and each execution is recorded once; Dask may run a task again, on another worker or later
    rows = [(n, row) for n, f in enumerate(files) for row in cap.rows(f, "execution")]
    executed = Counter((n, row["key"], row["begins"]) for n, row in rows)
    assert set(executed.values()) == {1}


@pytest.mark.slow
def test_spills_are_in_the_samples(tmp_path: Path) -> None:
    # given a worker that may keep 8 of 20 results of a megabyte in memory
    memory = {"distributed.worker.memory.target": 0.01}
    with (
        work.cluster(1, {"memory_limit": "800MB"}, **memory) as client,
        capture(client, tmp_path / "R1", interval=0.1),
    ):
        held = [client.submit(work.block, n, pure=False) for n in range(20)]
        wait(held)
        assert client.submit(len, held[0]).result() == 1_000_000  # taken back from disk
        measured = client.run(lambda dask_worker: dict(dask_worker.data.cumulative_metrics))
        (buffer,) = measured.values()
        time.sleep(0.5)  # several samples later

    last = cap.rows(cap.only(tmp_path / "R1", "worker"), "sample")[-1]
    assert last["spills"] == buffer["disk-write", "count"] >= 12
    assert last["spill_bytes"] == buffer["disk-write", "bytes"]
    assert last["unspills"] == buffer["disk-read", "count"] >= 1
