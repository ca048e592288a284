"""Processes of a captured cluster are killed in the middle of their work: what is on disk harvests.

The cluster consists of programs of their own, so that each can be killed alone.
"""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import eventually
from commands import harvest_here

import harvest
from harvest import collect
from harvest.plugins.registry import manager

pytest.importorskip("harvest_dask")

pytestmark = pytest.mark.slow

WAVE = {f"first-{n}" for n in range(20)}
SCRIPT = """
import sys
from distributed import Client
import harvest_dask


def square(x):
    return x * x


if __name__ == "__main__":
    with Client(scheduler_file=sys.argv[1]) as client:
        client.wait_for_workers(2, timeout=60)
        with harvest_dask.capture(client, sys.argv[2], flush=0.2):
            wave = client.map(square, range(20), key=[f"first-{n}" for n in range(20)])
            client.gather(wave)
            print("done", flush=True)
            sys.stdin.readline()  # until all of the wave is on disk
            for n in range(100_000):
                client.submit(square, n, pure=False).result()
"""


class Cluster:
    """A scheduler, two workers and a client that captures, each a process."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.capture = folder / "runs" / "R1"
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def begin(self, name: str, *words: Any) -> subprocess.Popen[str]:
        self.processes[name] = subprocess.Popen(
            [str(word) for word in words], cwd=self.folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self.processes[name]

    def start(self) -> None:
        """Begin all, and wait until the first wave of tasks is on disk."""
        file = self.folder / "scheduler.json"
        dask = Path(sys.executable).with_name("dask")
        local = ("--host", "127.0.0.1", "--no-dashboard")
        self.begin("scheduler", dask, "scheduler", *local, "--port", "0", "--scheduler-file", file)
        eventually(file.exists, "the scheduler listens")
        for name in ("worker", "other"):
            self.begin(
                name, dask, "worker", *local, "--scheduler-file", file, "--nthreads", "1",
                "--no-nanny", "--name", name, "--death-timeout", "5",
            )  # fmt: skip
        script = self.folder / "work.py"
        script.write_text(SCRIPT)
        client = self.begin("client", sys.executable, script, file, self.capture)
        assert client.stdout is not None
        assert client.stdin is not None
        assert client.stdout.readline() == "done\n"
        eventually(self.first_wave_is_on_disk, "what was captured of the first wave is written")
        client.stdin.write("go on\n")
        client.stdin.flush()

    def first_wave_is_on_disk(self) -> bool:
        """Whether both the scheduler's and the workers' transitions of its tasks can be read."""
        if not any(self.capture.rglob("*.cap")):
            return False
        found = collect(manager().source("dask")(str(self.capture)))
        return all(
            {row["key"] for row in found.rows(kind) if row["finish_state"] == "memory"} >= WAVE
            for kind in ("dask.task_transition", "dask.worker_transition")
        )

    def kill(self, name: str) -> int:
        """Kill a process; its process id."""
        process = self.processes[name]
        process.kill()
        process.wait(30)
        return process.pid

    def end(self) -> None:
        """End all, the workers and the scheduler as a facility does: by SIGTERM."""
        for name, process in self.processes.items():
            process.send_signal(signal.SIGKILL if name == "client" else signal.SIGTERM)
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.communicate()
        self.processes.clear()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.mark.parametrize("victim", ["worker", "scheduler", "client"])
def test_what_a_killed_process_left_is_harvested(
    cluster: Cluster, victim: str, tmp_path: Path
) -> None:
    # given a cluster in the middle of its work, of which one process is killed
    cluster.start()
    pid = cluster.kill(victim)
    cluster.end()

    # when what is on disk is harvested
    out = tmp_path / "out"
    done = harvest_here("run", "-s", f"dask:{cluster.capture}", "-k", f"parquet:{out}")

    # then every frame is accounted for, and the first wave is there, of all sides
    assert done.returncode == 0, done.stderr
    assert "dask" in done.stdout
    dataset = harvest.open(out)
    transitions = dataset["dask.task_transition"].collect()
    done = transitions.filter(finish_state="memory")["key"].to_list()
    assert set(done) >= WAVE
    own = dataset["dask.worker_transition"].collect().filter(finish_state="memory")["key"]
    assert set(own) >= WAVE

    # and the process is known to be lost, with the time from which nothing is known of it
    processes = dataset["dask.process"].collect()
    (lost,) = processes.filter(pid=pid).to_dicts()
    assert lost["role"] == victim
    assert lost["end_time"] is None
    assert lost["last_time"] is not None
    (summary,) = dataset.view("dask.run_summary").collect().to_dicts()
    named = str(summary["lost_processes"])
    assert lost["address"] in named or lost["process"] in named
    page = harvest_here("report", "dask.run", out).stdout
    assert "without an end" in page
    assert f"since {lost['last_time']:%Y-%m-%d %H:%M:%S}" in " ".join(page.split())
