"""Write a realistic Mofka-Dask run directory of any size, with the exact totals to check against.

    python benchmarks/gen_mofka_dask.py --rows 1000000 --seed 1 --out /scratch/bench

makes ``/scratch/bench/D2024-04-19_19:01:00_R1_W<workers>/`` and, beside it,
``/scratch/bench/manifest.json``.  The same seed gives the same files.

Shapes follow real runs: five transitions a task in the scheduler and in its worker, keys mostly
tuples, some plain strings and a few odd ones, one transfer in ten of several keys, and about 44 %
of the transfer rows telling an earlier one again, as the coupler does with the last entry of a
worker's log whenever a new one comes.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl

START = 1_713_553_200  # epoch seconds
TICK = 10_000_000  # times are kept in tenths of microseconds, as finely as Python prints them
REPEATS = 0.44
WORKER_STATES = ["released", "waiting", "ready", "executing", "memory", "released"]
SCHEDULER_STATES = ["released", "waiting", "processing", "memory", "released", "forgotten"]
STIMULI = ["update-graph", "update-graph", "task-finished", "task-finished", "client-releases-keys"]
STEPS = len(SCHEDULER_STATES) - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="CSV rows in all, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="directory to write into")
    parser.add_argument("--workers", type=int, default=32)
    arguments = parser.parse_args()
    Run(arguments.rows, arguments.seed, arguments.workers).write(arguments.out)


def decimal_times(ticks: np.ndarray) -> pl.Series:
    """Ticks since the start as epoch seconds, spelled as Python spells floats."""
    frame = pl.DataFrame({"tick": ticks})
    seconds = (pl.col("tick") // TICK + START).cast(pl.String)
    fraction = (pl.col("tick") % TICK).cast(pl.String).str.zfill(7).str.strip_chars_end("0")
    text = pl.when(fraction == "").then(pl.lit("0")).otherwise(fraction)
    return frame.select(seconds + "." + text).to_series()


class Run:
    """One run: its tasks and workers, from which all files follow."""

    def __init__(self, rows: int, seed: int, workers: int):
        self.rng = np.random.default_rng(seed)
        # five rows a task in the scheduler and five in a worker; a sixth of all are transfers
        self.tasks = max(int(rows * 0.8 / (2 * STEPS)), 4)
        self.transfer_rows = max(int(rows * 0.2), 4)
        addresses = [f"10.201.{i // 8}.{100 + i % 8}:{35_000 + 7 * i}" for i in range(workers)]
        self.workers = np.array([f"tcp://{address}" for address in addresses])
        self.scheduler = "tcp://10.201.1.129:8786"
        self.client = "Client-3c72562a-fe7f-11ee-829c-6805cae1dd68"
        self.totals: dict[str, int] = {}
        self._make_keys()
        self.begin = np.sort(self.rng.integers(0, self.tasks * TICK // 50 + TICK, self.tasks))
        self.span = self.rng.integers(1_000, TICK, self.tasks)
        self.worker = self.rng.integers(0, workers, self.tasks)
        self.size = self.rng.integers(50, 2**27, self.tasks)

    def _make_keys(self) -> None:
        groups = [f"{name}-{self.rng.bytes(16).hex()}" for name in ("array", "sum", "read_frame")]
        self.groups, self.keys = [], []
        kinds = self.rng.random(self.tasks)
        for number, kind in enumerate(kinds.tolist()):
            group = groups[number % len(groups)]
            key: object
            if kind < 0.90:
                key = (group, number, 0)
            elif kind < 0.98:
                key = f"load-{number:032x}"
            else:
                odd = ("it's", 'say "x"', "back\\slash", "größe", ("in", number), 2.5, None)
                key = (odd[number % len(odd)], number)
            self.groups.append(group)
            self.keys.append(key)
        self.texts = pl.Series([str(key) for key in self.keys])
        self.literals = pl.Series([repr(key) for key in self.keys])

    def write(self, out: Path) -> None:
        """Write the run directory and, beside it, the manifest."""
        folder = out / f"D2024-04-19_19:01:00_R1_W{len(self.workers)}"
        folder.mkdir(parents=True, exist_ok=True)
        self.scheduler_transitions(folder)
        self.worker_transitions(folder)
        self.transfers(folder)
        self.graphs(folder)
        self.events(folder)
        self.job_files(folder)
        self.logs(folder)
        manifest = {"run": folder.name, **self.totals}
        (out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        print(json.dumps(manifest))

    def _steps(self, states: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Task, step and time of every transition, in order of time."""
        task = np.repeat(np.arange(self.tasks), STEPS)
        step = np.tile(np.arange(STEPS), self.tasks)
        time = self.begin[task] + self.span[task] * step // (STEPS - 1) + step
        order = np.argsort(time, kind="stable")
        return task[order], step[order], time[order]

    def _csv(self, path: Path, columns: dict[str, object], name: str) -> None:
        frame = pl.DataFrame(columns)
        frame.insert_column(0, pl.Series("", np.arange(frame.height))).write_csv(path)
        self.totals[f"{name} rows read"] = frame.height

    def scheduler_transitions(self, folder: Path) -> None:
        task, step, time = self._steps(SCHEDULER_STATES)
        done = pl.Series(step == 2)
        states = pl.Series(SCHEDULER_STATES)
        groups = pl.Series(self.groups).gather(task)
        times = decimal_times(time)

        def when_done(values: pl.Series) -> pl.Series:
            return values.to_frame("v").select(pl.when(done).then(pl.col("v"))).to_series()

        begins, ends = self.begin[task], self.begin[task] + self.span[task]
        columns = {
            "key": self.texts.gather(task),
            "thread": when_done(pl.Series(22_515_807_322_112 + self.worker[task]).cast(pl.Float64)),
            "worker": when_done(pl.Series(self.workers[self.worker[task]])),
            "prefix": groups.str.slice(0, groups.str.len_bytes() - 33),
            "group": groups,
            "start": states.gather(step),
            "finish": states.gather(step + 1),
            "stimulus_id": pl.Series(STIMULI).gather(step) + "-" + times,
            "called_from": [self.scheduler] * len(task),
            "begins": when_done(decimal_times(begins)),
            "ends": when_done(decimal_times(ends)),
            "duration": when_done(pl.Series((ends - begins) / TICK)),
            "size": when_done(pl.Series(self.size[task]).cast(pl.Float64)),
            "time": times,
        }
        columns["thread"] = columns["thread"].cast(pl.Int64).cast(pl.String) + ".0"
        columns["size"] = columns["size"].cast(pl.Int64).cast(pl.String) + ".0"
        self._csv(folder / "scheduler_transition.csv", columns, "dask.task_transition")
        self.totals["dask.task_transition"] = len(task)

    def worker_transitions(self, folder: Path) -> None:
        task, step, time = self._steps(WORKER_STATES)
        states = pl.Series(WORKER_STATES)
        columns = {
            "key": self.texts.gather(task),
            "start": states.gather(step),
            "finish": states.gather(step + 1),
            "called_from": self.workers[self.worker[task]],
            "time": decimal_times(time),
        }
        self._csv(folder / "worker_transition.csv", columns, "dask.worker_transition")
        self.totals["dask.worker_transition"] = len(task)

    def transfers(self, folder: Path) -> None:
        """Entries of each worker's logs, and its last entry again before most new ones."""
        rng, count = self.rng, int(self.transfer_rows * (1 - REPEATS))
        # a log belongs to a worker and a direction
        log = np.sort(rng.integers(0, 2 * len(self.workers), count))
        start = rng.integers(0, int(self.begin[-1]), count)
        start = start[np.lexsort((start, log))]
        # the chance that corrects for the first entry of a log, which repeats nothing
        again = rng.random(count) < REPEATS / (1 - REPEATS)
        again[np.flatnonzero(np.diff(log, prepend=-1))] = False
        entry = np.concatenate([np.arange(count), np.flatnonzero(again) - 1])
        cause = np.concatenate([np.arange(count), np.flatnonzero(again)])
        spent = rng.integers(1_000, TICK, count)
        told = start[cause] + spent[cause] + np.where(entry == cause, 5_000, 4_000)
        order = np.argsort(told, kind="stable")
        entry, told = entry[order], told[order]

        many = np.where(rng.random(count) < 0.1, rng.integers(2, 9, count), 1)
        member = np.repeat(np.arange(count), many)
        item = rng.integers(0, self.tasks, len(member))
        size = self.size[item]
        parts = pl.DataFrame(
            {"entry": member, "text": self.literals.gather(item), "size": size}
        ).unique(["entry", "text"], maintain_order=True)
        texts = parts.group_by("entry", maintain_order=True).agg(
            text="{"
            + (pl.col("text") + ": " + pl.col("size").cast(pl.String)).str.join(", ")
            + "}",
            total=pl.col("size").sum(),
        )
        total = texts["total"].to_numpy()
        incoming = (log % 2 == 0)[entry]
        owner, other = self.workers[log // 2], rng.integers(0, len(self.workers), count)
        peer = pl.Series(self.workers[other]).to_frame("p")
        client = pl.Series((other == 0) & (log % 2 == 1))
        who = peer.select(pl.when(~client).then(pl.col("p"))).to_series()
        compressed = pl.Series(total // 2 + 300).cast(pl.String) + ".0"
        columns = {
            "start": decimal_times(start[entry]),
            "stop": decimal_times((start + spent)[entry]),
            "middle": decimal_times((start + spent // 2)[entry]),
            "duration": (spent / TICK)[entry],
            "keys": texts["text"].gather(entry),
            "total": total[entry],
            "bandwidth": (total / spent * TICK)[entry],
            "who": who.gather(entry),
            "type": np.where(incoming, "incoming_transfer", "outgoing_transfer"),
            "called_from": owner[entry],
            "time": decimal_times(told),
            "compressed": compressed.gather(entry)
            .to_frame("c")
            .select(pl.when(~pl.Series(incoming)).then(pl.col("c")))
            .to_series(),
        }
        self._csv(folder / "worker_transfer.csv", columns, "dask.transfer")
        self.totals["dask.transfer"] = count
        self.totals["dask.transfer folded"] = len(entry) - count

    def graphs(self, folder: Path) -> None:
        """A few graphs; the dict of each is a megabyte and more in runs of some size."""
        literals = self.literals.to_list()
        pieces = np.array_split(np.arange(self.tasks), max(1, self.tasks // 20_000))
        rows = []
        for piece in pieces:
            needs = self.rng.integers(piece[0], piece[-1] + 1, (len(piece), 2)).tolist()
            body = ", ".join(
                f"{literals[task]}: "
                + (
                    "set()"
                    if task == first
                    else "{" + ", ".join(sorted({literals[a], literals[b]})) + "}"
                )
                for first, task, (a, b) in (
                    (int(piece[0]), int(task), pair)
                    for task, pair in zip(piece, needs, strict=True)
                )
            )
            rows.append(("{" + literals[int(piece[-1])] + "}", "{" + body + "}"))
        columns = {
            "client": [self.client] * len(rows),
            "keys": [asked for asked, _ in rows],
            "dependencies": [body for _, body in rows],
            "time": decimal_times(np.arange(len(rows)) * TICK),
        }
        self._csv(folder / "graph.csv", columns, "dask.graph")
        self.totals["dask.graph_task"] = self.tasks

    def events(self, folder: Path) -> None:
        count = len(self.workers)
        columns = {
            "worker": self.workers,
            "action": ["add"] * count,
            "stimulus_id": [None] * count,
            "time": decimal_times(np.arange(count) * 1_000),
        }
        self._csv(folder / "worker.csv", columns, "dask.worker")
        self.totals["dask.worker"] = count
        columns = {"client": [self.client], "action": ["add"], "time": decimal_times(np.array([5]))}
        self._csv(folder / "client.csv", columns, "dask.client")
        self.totals["dask.client"] = 1

    def job_files(self, folder: Path) -> None:
        hosts = [f"x3109c0s{i}b0n0.example.org" for i in range(4 + len(self.workers) // 8)]
        for name, host in zip(
            ("SchedulerNode", "ClientNode", "ConsumerNode", "MofkaServerNode"), hosts, strict=False
        ):
            (folder / name).write_text(f"{host}\n")
        (folder / "WorkerNodes").write_text("".join(f"{host}\n" for host in hosts[4:]))
        self.totals["run.node"] = len(hosts)
        (folder / "polaris.sh").write_text(
            "#!/bin/bash -l\n#PBS -l walltime=4:00:00\n#PBS -q run_next\n#PBS -A radix-io\n"
            "#PBS -l filesystems=home:grand:eagle\n\nset -eu\ncd $PBS_O_WORKDIR\n"
        )
        self.totals["run.directive"] = 4
        packages = [("argobots", "1.2"), ("mofka", "0.0.4"), ("python", "3.10.10")]
        (folder / "1873179.pbs.example.org.OU").write_text(
            "==> Installed packages\n-- linux-sles15-zen3 / gcc@11.2.0 -----\n"
            + "".join(f"mochi.{name}@{version}%gcc\n" for name, version in packages)
            + "Creating Mofka Server\n"
        )
        self.totals["run.software"] = len(packages)
        (folder / "config.json").write_text('{"libraries": {"mofka": "libmofka.so"}, "ssg": [1]}\n')
        (folder / "config.txt").write_text("# Darshan\nMOD_ENABLE  DXT_POSIX\nMODMEM  8\n")
        self.totals["run.config"] = 4

    def logs(self, folder: Path) -> None:
        def line(number: int, logger: str, level: str, text: str) -> str:
            stamp = f"2024-04-19 {19 + number // 3_600_000:02d}:{number // 60_000 % 60:02d}:"
            stamp += f"{number // 1000 % 60:02d},{number % 1000:03d}"
            return f"{stamp} - distributed.{logger} - {level} - {text}\n"

        lines = [line(1, "scheduler", "INFO", f"  Scheduler at:   {self.scheduler}")]
        lines += [
            line(
                2 + i,
                "scheduler",
                "INFO",
                f"Register worker <WorkerState '{worker}', status: init, memory: 0, processing: 0>",
            )
            for i, worker in enumerate(self.workers)
        ]
        (folder / "scheduler.e").write_text("".join(lines))
        events, wanted = len(lines), max(self.tasks // 4, len(self.workers) * 4)
        lines = []
        for i, worker in enumerate(self.workers):
            lines += [
                line(i, "worker", "INFO", f"      Start worker at:   {worker}"),
                line(i, "worker", "INFO", "              Threads:                          8"),
                line(i, "worker", "INFO", "               Memory:                 503.22 GiB"),
                line(i, "worker", "INFO", f"      Local Directory: /tmp/dask/worker-{i}"),
            ]
        events += len(lines)
        text = "Event loop was unresponsive in Worker for 3.4s."
        trace = "Traceback (most recent call last):\n  File x, line 1\nStreamClosedError: closed\n"
        folded = 0
        for i in range(len(lines), wanted):
            lines.append(line(i % 14_000_000, "core", "WARNING", text))
            events += 1
            if i % 50 == 0:
                lines.append(trace)
                folded += 3
        (folder / "worker.e").write_text("".join(lines))
        (folder / "consumer.o").write_text(
            "data failure:  {'key': \"('array-1', 2)\", 'thre\n\n\nTotal time taken  = 41.31s\n"
        )
        self.totals["dask.log_event"] = events + 2
        self.totals["dask.log_event folded"] = folded + 2


if __name__ == "__main__":
    main()
