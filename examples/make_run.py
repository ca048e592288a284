"""Make the run directory that the examples and tests of this project use.

    python examples/make_run.py [DIRECTORY]

It writes a directory as the Mofka-Dask coupler and the batch job around it leave one: 58 tasks of
two clients on four workers of two hosts.  Two things are amiss on purpose, as they are in real
runs: one worker registers but its events never arrive, and one event reaches the consumer cut off.
The same seed gives the same bytes everywhere.
"""

import argparse
import csv
import io
from pathlib import Path
from typing import Any

import _jobfiles as job
from _cluster import Cluster, Task, Worker

NAME = "D2024-05-06_07:08:09_R1_W4"
START = 1714979289.25  # 2024-05-06T07:08:09.25Z
SEED = 20240506
SCHEDULER = "tcp://10.9.0.11:8786"
WORKERS = {
    "tcp://10.9.0.21:40101": 0.041,
    "tcp://10.9.0.21:40102": 0.038,
    "tcp://10.9.0.22:40201": -0.012,
    "tcp://10.9.0.22:40202": -0.015,
}
"""Addresses, and how far each worker's clock is ahead, in seconds."""
SILENT = "tcp://10.9.0.22:40202"
CLIENTS = (
    "Client-5d0c1f3e-0b77-11ef-8a51-0242ac110002",
    "Client-61f2a9b4-0b77-11ef-8a77-0242ac110003",
)
NODES = {
    "SchedulerNode": ["larch0101.demo.example"],
    "ClientNode": ["larch0102.demo.example"],
    "ConsumerNode": ["larch0103.demo.example"],
    "MofkaServerNode": ["larch0104.demo.example"],
    "WorkerNodes": ["larch0105.demo.example", "larch0106.demo.example"],
}


def array_graph(cluster: Cluster) -> list[Task]:
    """Load and normalise twelve blocks, then sum them two by two: tuple keys, as arrays have."""
    load, norm = f"load-{_token(cluster)}", f"normalize-{_token(cluster)}"
    part, total = f"sum-partial-{_token(cluster)}", f"sum-aggregate-{_token(cluster)}"
    tasks = []
    for i in range(12):
        seconds, size = cluster.uniform(0.2, 0.5), 800_128
        tasks.append(Task((load, i, 0), seconds=seconds, size=size))
        tasks.append(Task((norm, i, 0), [(load, i, 0)], cluster.uniform(0.05, 0.2), size))
    for i in range(6):
        needs: list[Any] = [(norm, 2 * i, 0), (norm, 2 * i + 1, 0)]
        tasks.append(Task((part, i), needs, cluster.uniform(0.02, 0.06), 144))
    needs = [(part, i) for i in range(6)]
    return [*tasks, Task((total,), needs, 0.012, 32, requested=True)]


def futures_graph(cluster: Cluster) -> list[Task]:
    """Fit and score thirteen models: plain keys, as futures have.

    One fit leaves its thread (``secede``), one score fails.
    """
    tasks = []
    for i in range(13):
        fit, score = f"fit-{_token(cluster)}", f"score-{_token(cluster)}"
        seconds = cluster.uniform(0.3, 0.8)
        size = 20_000 + 16 * int(cluster.uniform(0, 500))
        tasks.append(Task(fit, [], seconds, size, secedes=i == 2))
        more = {"fails": i == 3, "requested": True}
        tasks.append(Task(score, [fit], cluster.uniform(0.05, 0.15), 56, **more))
    best = Task(f"best-{_token(cluster)}", [t.key for t in tasks[1::2] if not t.fails], 0.004, 104)
    best.requested = True
    return [*tasks, best]


def _token(cluster: Cluster) -> str:
    return "".join("0123456789abcdef"[int(cluster.random.random() * 16)] for _ in range(32))


def simulate() -> Cluster:
    """The events of the run."""
    cluster = Cluster(SCHEDULER, SEED, START + 12.0)
    for number, (address, skew) in enumerate(WORKERS.items()):
        threads = [23_456_000_000_000 + 4_200_448 * (8 * number + i) for i in (1, 2)]
        cluster.workers[address] = Worker(cluster, address, threads, skew)

    def second() -> None:
        cluster.submit(CLIENTS[1], futures_graph(cluster), lambda: None)

    cluster.after(0, lambda: cluster.submit(CLIENTS[0], array_graph(cluster), second))
    cluster.run()
    return cluster


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as pandas' ``to_csv`` does: a nameless index first, nothing for a null."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["", *columns])
    for number, row in enumerate(rows):
        writer.writerow([number, *(_cell(row.get(name)) for name in columns)])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(round(value, 7))
    if isinstance(value, set):
        return _set(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_cell(v)}" for k, v in value.items()) + "}"
    return str(value)


def _set(items: set[Any]) -> str:
    """A set as Python prints it, in an order that does not depend on hash seeds."""
    return "{" + ", ".join(sorted(map(repr, items))) + "}" if items else "set()"


def write_run(directory: Path) -> None:
    """Write the whole run into a directory, which is made."""
    directory.mkdir(parents=True, exist_ok=True)
    cluster = simulate()
    end = cluster.now + 1.0
    joined = {address: START + 10.0 + 0.0013 * i for i, address in enumerate(WORKERS)}
    came = {client: START + 8.0 + 0.4 * i for i, client in enumerate(CLIENTS)}

    told = sorted(_heard(cluster.worker_transitions), key=lambda row: row["time"])
    lost = told.pop(len(told) // 2)
    transfers = sorted(_heard(cluster.transfers), key=lambda row: row["time"])
    write_csv(directory / "scheduler_transition.csv", cluster.scheduler_transitions)
    write_csv(directory / "worker_transition.csv", told)
    write_csv(directory / "worker_transfer.csv", transfers)
    write_csv(directory / "graph.csv", cluster.graphs)
    write_csv(
        directory / "worker.csv",
        [
            {"worker": worker, "action": "add", "stimulus_id": "", "time": time + 4e-4}
            for worker, time in joined.items()
        ],
    )
    write_csv(
        directory / "client.csv",
        [{"client": name, "action": "add", "time": time} for name, time in came.items()],
    )
    failed = next(task.key for task in cluster.tasks.values() if task.fails)
    texts = {
        "job.sh": job.JOB_SCRIPT,
        "launcher.sh": job.LAUNCHER,
        "anomaly.py": job.WORKFLOW,
        "411207.larch-pbs-01.OU": job.JOB_OUTPUT,
        "config.json": job.CONFIG_JSON,
        "config.txt": job.CONFIG_TXT,
        "distributed.yaml": job.DISTRIBUTED_YAML,
        "consumer.o": f"data failure:  {str(lost)[:-30]}\n\n\nTotal time taken  = 41.07s\n",
        "scheduler.e": job.scheduler_log(START, end, SCHEDULER, came, joined),
        "worker.e": job.worker_log(SCHEDULER, end, joined, failed),
        "scheduler.o": "",
        "worker.o": "",
        **{name: "".join(f"{host}\n" for host in hosts) for name, hosts in NODES.items()},
    }
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8", newline="")


def _heard(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["called_from"] != SILENT]


def main() -> None:
    """Write the run below the directory given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "directory",
        nargs="?",
        type=Path,
        default=Path(__file__).parent / "dask-run",
        help="where to make it (default: %(default)s)",
    )
    target = parser.parse_args().directory / NAME
    write_run(target)
    print(f"written to {target}")


if __name__ == "__main__":
    main()
