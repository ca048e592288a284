"""Processes come, go and are killed: their files can be read, and the scheduler's says who left."""

import asyncio
import os
import pstats
import signal
import subprocess
import sys
import time
from pathlib import Path

import cap_reader as cap
import dask_work as work
import pytest
from commands import harvest_here
from distributed import Client, LocalCluster, wait

import harvest_dask
from harvest_dask import CaptureError, capture

pytestmark = pytest.mark.slow


def _pids(client: Client) -> dict[str, int]:
    return client.run(os.getpid)


def test_a_killed_worker_keeps_all_but_the_last_second(tmp_path: Path) -> None:
    """Given two workers, one is killed and another comes in its place."""

    def written(number: int) -> bool:
        return len(cap.files(tmp_path / "R1", "worker")) == number

    with work.cluster() as client, capture(client, tmp_path / "R1", flush=0.2):
        first = _pids(client)
        victim, other = first
        wait([client.submit(work.increment, 1, workers=victim)])
        work.until(lambda: written(2))  # on a busy machine a thread may be late
        time.sleep(1.0)
        os.kill(first[victim], signal.SIGKILL)
        work.until(lambda: victim not in client.scheduler_info()["workers"] and written(3))
        last = _pids(client)

    files = [cap.read_frames(path)[0] for path in cap.files(tmp_path / "R1", "worker")]
    assert {f[0]["pid"] for f in files} >= {*first.values(), *last.values()}
    (killed,) = (f for f in files if f[0]["address"] == victim)
    states = [r["finish_state"] for r in cap.rows(killed, "worker_transition")]
    assert "memory" in states
    assert killed[-1]["kind"] != "end"
    assert {f[-1]["kind"] for f in files if f[0]["pid"] in last.values()} == {"end"}

    events = cap.rows(cap.only(tmp_path / "R1", "scheduler"), "worker_event")
    assert [e["reason"] for e in events if (e["worker"], e["action"]) == (victim, "remove")] == [
        "lost"
    ]
    assert [e["action"] for e in events if e["worker"] == other] == ["add"]
    assert {e["worker"] for e in events if e["action"] == "add"} == {f[0]["address"] for f in files}


def _kinds(directory: Path) -> set[str]:
    """Kinds of frames that are on disk; on a busy machine a thread may be late."""
    paths = directory.glob("*.cap")
    return {frame["kind"] for path in paths for frame in cap.read_frames(path)[0]}


SCRIPT = """
import sys, time
import dask_work as work
from harvest_dask import capture

if __name__ == "__main__":
    with work.cluster(1, work.HERE) as client, capture(client, sys.argv[1], flush=0.2):
        held = client.submit(work.increment, 41, key="the-answer")
        print(held.result(), flush=True)
        time.sleep(60)
"""


def test_a_killed_script_leaves_files_that_can_be_read(tmp_path: Path) -> None:
    """Given a script whose process holds the client and the scheduler."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "R1")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stdout.readline() == "42\n"
        time.sleep(1.0)
        work.until(lambda: _kinds(tmp_path / "R1") >= {"scheduler_transition", "script"})
        running.kill()

    frames = cap.only(tmp_path / "R1", "scheduler")
    states = [
        r["finish_state"]
        for r in cap.rows(frames, "scheduler_transition")
        if r["key"] == "the-answer"
    ]
    assert states == ["waiting", "processing", "memory"]
    other = cap.only(tmp_path / "R1", "client")
    assert [f["path"] for f in cap.of_kind(other, "script")] == [str(script.resolve())]
    assert {frames[-1]["kind"], other[-1]["kind"]}.isdisjoint({"end"})


def test_a_directory_that_vanished_does_not_stop_the_computation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory, away = tmp_path / "R1", tmp_path / "elsewhere"
    with work.cluster(1, work.HERE) as client, capture(client, directory, interval=0.2, flush=0.1):
        directory.rename(away)
        work.until(lambda: "nothing can be recorded" in caplog.text)
        work.until(lambda: "records nothing" in caplog.text)  # the worker says so
        assert client.submit(work.increment, 1, key="meanwhile").result() == 2
        away.rename(directory)
        work.until(lambda: "recording goes on" in caplog.text)

    losses = []
    for path in directory.glob("*.cap"):
        frames, cut = cap.read_frames(path)
        assert cut == 0
        kind = {"s": "scheduler_transition", "w": "worker_transition"}.get(path.name[0])
        assert kind is None or "meanwhile" in {r["key"] for r in cap.rows(frames, kind)}
        losses += [b["lost"] for b in cap.of_kind(frames, "blind") if "process" not in b]
    # a process that had nothing to write in the meantime did not notice
    assert set(losses) == {0}


def _blind(directory: Path) -> set[str]:
    """Processes that the scheduler's file says to record nothing."""
    return {frame["process"] for frame in cap.of_kind(cap.only(directory, "scheduler"), "blind")}


def test_a_worker_without_the_package_works_uncaptured(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    absent = "import sys; sys.modules['harvest_dask'] = None"
    with work.cluster(1, {"preload": [absent]}) as client, capture(client, tmp_path / "R1"):
        assert client.submit(work.increment, 1).result() == 2
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=30)
        work.until(lambda: len(_blind(tmp_path / "R1")) == 2)  # the second one has said so, too

    said = [r.getMessage() for r in caplog.records if r.name == "harvest_dask"]
    assert sum("1 of 1 workers record nothing" in message for message in said) == 1
    assert sum("install hpc-harvest-dask where the workers run" in m for m in said) == 1
    assert cap.files(tmp_path / "R1", "worker") == []
    assert len(_blind(tmp_path / "R1")) == 2


def test_transfers_are_kept_when_dasks_logs_overflow(tmp_path: Path) -> None:
    """Given logs that keep two entries, what workers count is captured."""
    with (
        work.cluster(2, work.HERE, **{"distributed.admin.low-level-log-length": 2}) as client,
        capture(client, tmp_path / "R1"),
    ):
        one, two = client.scheduler_info()["workers"]
        for n in range(5):
            there = client.submit(work.increment, n, workers=one, pure=False)
            assert client.submit(work.increment, there, workers=two, pure=False).result() == n + 2
        counted = client.run(lambda dask_worker: dask_worker.transfer_outgoing_count_total)
        kept = client.run(lambda dask_worker: len(dask_worker.transfer_outgoing_log))

    assert max(kept.values()) == 2 < max(counted.values())
    for path in cap.files(tmp_path / "R1", "worker"):
        frames, _ = cap.read_frames(path)
        ways = [r["direction"] for r in cap.rows(frames, "transfer")]
        assert ways.count("outgoing") == counted[frames[0]["address"]]
        if frames[0]["address"] == two:
            assert ways.count("incoming") == 5


def test_a_capture_that_comes_late_records_what_is_there(tmp_path: Path) -> None:
    with work.cluster(1, work.HERE) as client:
        before = client.submit(work.increment, 1, key="before")
        after = client.submit(work.increment, before, key="after")
        wait([after])
        with capture(client, tmp_path / "R1"):
            pass
        with pytest.raises(CaptureError, match="already holds a capture"):
            capture(client, tmp_path / "R1").__enter__()

    frames = cap.only(tmp_path / "R1", "scheduler")
    found = {r["key"]: r["state"] for r in cap.rows(frames, "snapshot")}
    assert found == {"before": "memory", "after": "memory"}
    (graph,) = cap.of_kind(frames, "graph")
    needs = dict(zip(graph["keys"], graph["dependencies"], strict=True))
    assert needs == {"before": [], "after": ["before"]}
    workers = [(e["action"], e["stimulus_id"]) for e in cap.rows(frames, "worker_event")]
    assert workers == [("add", "capture-start")]


def test_data_that_a_client_scattered_are_no_tasks_of_a_graph(tmp_path: Path) -> None:
    with work.cluster(1, work.HERE) as client:
        early = client.scatter(1)
        with capture(client, tmp_path / "R1"):
            data = client.scatter(2)
            wait(client.submit(work.increment, early, key="a"))
            wait(client.submit(work.increment, data, key="b"))

    frames = cap.only(tmp_path / "R1", "scheduler")
    graphs = [
        dict(zip(graph["keys"], graph["dependencies"], strict=True))
        for graph in cap.of_kind(frames, "graph")
    ]
    assert graphs == [{}, {"a": [early.key]}, {"b": [data.key]}]


def test_preloads_and_the_command_capture_a_cluster_of_programs(tmp_path: Path) -> None:
    """Given a scheduler and a worker with the preload, and the command that attaches."""
    programs, scheduler_file = Path(sys.executable).parent, tmp_path / "scheduler.json"
    environment = os.environ | {
        "DASK_HARVEST__CAPTURE__DIRECTORY": str(tmp_path / "whole"),
        "PYTHONPATH": str(Path(__file__).parent),
    }
    started: list[subprocess.Popen[str]] = []

    def begin(*words: object) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [str(w) for w in words], env=environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip
        return started[-1]

    try:
        begin(
            programs / "dask", "scheduler", "--host", "127.0.0.1", "--port", "0",
            "--no-dashboard", "--scheduler-file", scheduler_file, "--preload", "harvest_dask",
        )  # fmt: skip
        work.until(scheduler_file.exists)
        begin(
            programs / "dask", "worker", "--scheduler-file", scheduler_file, "--nthreads", "1",
            "--no-dashboard", "--no-nanny", "--preload", "harvest_dask",
        )  # fmt: skip
        with Client(scheduler_file=str(scheduler_file)) as client:
            client.wait_for_workers(1, timeout=30)
            command = begin(
                programs / "harvest", "dask", "capture", client.scheduler.address,
                "-o", tmp_path / "part", "--timeout", "5",
            )  # fmt: skip
            assert command.stdout is not None
            assert command.stdout.readline().startswith("capturing tcp://")
            assert client.submit(work.increment, 1, key="seen").result() == 2
            command.send_signal(signal.SIGINT)
            assert command.wait(30) == 0
            client.shutdown()
        assert [p.wait(30) for p in started[:2]] == [0, 0]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    for directory, roles in (
        ("whole", ["scheduler", "worker"]),
        ("part", ["client", "scheduler", "worker"]),
    ):
        paths = sorted((tmp_path / directory).glob("*.cap"))
        assert [p.name.partition("-")[0] for p in paths] == roles
        for path in paths:
            frames, cut = cap.read_frames(path)
            assert (cut, frames[-1]["kind"]) == (0, "end")
            for kind in ("scheduler_transition", "worker_transition"):
                keys = {r["key"] for r in cap.rows(frames, kind)}
                assert keys == ({"seen"} if path.name.startswith(kind[:6]) else set())


def test_an_asynchronous_client_captures_with_async_with(tmp_path: Path) -> None:
    """Given a scheduler, a worker and a client in one process, each has a file of its own."""

    async def run() -> list[str]:
        async with (
            LocalCluster(n_workers=1, processes=False, asynchronous=True, **work.UNSEEN) as local,
            Client(local, asynchronous=True) as client,
        ):
            with pytest.raises(CaptureError, match="write `async with"):
                capture(client, tmp_path / "R1").__enter__()
            async with capture(client, tmp_path / "R1"):
                assert await client.submit(work.increment, 1, key="one") == 2
        return [p.name.partition("-")[0] for p in sorted((tmp_path / "R1").glob("*.cap"))]

    assert asyncio.run(run()) == ["client", "scheduler", "worker"]
    logged = [
        row["message"]
        for path in (tmp_path / "R1").glob("*.cap")
        for row in cap.rows(cap.read_frames(path)[0], "log")
    ]
    assert sum("Starting Worker plugin harvest-capture" in message for message in logged) == 1


def test_a_capture_ends_when_its_client_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harvest_dask.scheduler.ABSENT_S", 0.1)

    def reasons() -> list[str]:
        """Why the files of the scheduler and of the worker end, of those that do."""
        lasts = [cap.read_frames(path)[0][-1:] for path in (tmp_path / "R1").glob("[sw]*.cap")]
        return sorted(last["reason"] for (last,) in filter(None, lasts) if last["kind"] == "end")

    with work.cluster(1, work.HERE) as other, Client(other.scheduler.address) as owner:
        capture(owner, tmp_path / "R1").__enter__()
        owner.close()
        work.until(lambda: len(reasons()) == 2)
        assert other.submit(work.increment, 1).result() == 2
    gone = f"the client that captured, {owner.id}, is gone"
    assert reasons() == ["the capture ends", gone]


def test_the_client_s_code_is_recorded_where_dask_sends_it(tmp_path: Path) -> None:
    with (
        work.cluster(1, work.HERE, **{"distributed.diagnostics.computations.nframes": 1}) as client,
        capture(client, tmp_path / "R1"),
    ):
        first = client.submit(work.increment, 1)
        wait([first])
    (graph,) = cap.of_kind(cap.only(tmp_path / "R1", "scheduler"), "graph")
    assert "first = client.submit(work.increment, 1)" in graph["code"]


@pytest.mark.parametrize("way", [[], ["--via-scheduler"]], ids=["files", "via scheduler"])
def test_the_command_ends_well_with_the_cluster(tmp_path: Path, way: list[str]) -> None:
    with work.cluster(1, work.HERE) as client:
        words = [client.scheduler.address, "-o", str(tmp_path / "R1"), "--timeout", "1", *way]
        command = subprocess.Popen(
            [sys.executable, "-m", "harvest", "dask", "capture", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert command.stdout is not None
        assert command.stdout.readline().startswith("capturing tcp://")
        assert client.submit(work.increment, 1, key="seen").result() == 2
    said, complaints = command.communicate(timeout=60)
    assert (command.returncode, said) == (0, f"the cluster ended; captured in {tmp_path / 'R1'}\n")
    assert "Traceback" not in complaints
    assert {
        r["key"] for r in cap.rows(cap.only(tmp_path / "R1", "scheduler"), "scheduler_transition")
    } == {"seen"}


def test_the_command_says_what_is_wrong_in_a_line() -> None:
    words = ["dask", "capture", "nowhere://x", "-o", "R1"]
    done = harvest_here(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("harvest: nowhere://x: unknown address scheme")
    assert "Traceback" not in done.stderr


# --- profiles of Yappi and logs of Darshan beside a capture ---------------------------------------


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


def test_workers_begin_with_darshans_environment(tmp_path: Path) -> None:
    # given a library that any process may load, in the place of Darshan's
    (library,) = Path("/lib").rglob("libm.so.6")
    environment = harvest_dask.darshan_environment(tmp_path / "logs", library)

    with work.cluster(1, {"env": environment}) as client:
        (found,) = client.run(lambda: dict(os.environ)).values()

    assert found["LD_PRELOAD"] == str(library)
    assert found["DARSHAN_LOG_DIR_PATH"] == str(tmp_path / "logs")
    assert (found["DARSHAN_ENABLE_NONMPI"], found["DXT_ENABLE_IO_TRACE"]) == ("1", "1")
