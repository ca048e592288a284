"""Write the Darshan logs that the workers of a Dask run would have left.

    python make_logs.py RUN

RUN is a run directory as the Mofka-Dask coupler leaves one.  The script looks up which worker ran
which task on which thread and when, invents what the tasks read and wrote, and writes a log per
worker into RUN/darshan (``_darshan.py`` knows the bytes).  Two things are amiss, as in real runs:
the trace of the last worker was cut off for want of memory, and one process was killed before it
wrote its log's header.  The same run gives the same bytes.
"""

import argparse
import csv
import zlib
from collections import defaultdict
from pathlib import Path

from _darshan import Files, Operation, log

DATA = "/scratch/demo/fluid"
JOB = 411_207
BLOCK, PIECES = 800_128, 4
KEPT = 12  # operations of each file in the trace that was cut off
MAIN_THREAD = 23_455_999_799_552

Task = tuple[str, str, int, float, float]  # key, prefix, thread, begin, seconds


def executions(run: Path) -> dict[str, list[Task]]:
    """The tasks that ended well, by worker."""
    begun: dict[tuple[str, str], float] = {}
    with (run / "worker_transition.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["finish"] == "executing":
                begun[row["called_from"], row["key"]] = float(row["time"])
    found: dict[str, list[Task]] = defaultdict(list)
    with (run / "scheduler_transition.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["thread"]:
                worker, key, begins = row["worker"], row["key"], float(row["begins"])
                begin, seconds = begun.get((worker, key), begins), float(row["ends"]) - begins
                found[worker].append((key, row["prefix"], int(row["thread"]), begin, seconds))
    return dict(sorted(found.items()))


def operations(tasks: list[Task]) -> Files:
    """What the tasks of a worker read and wrote, and what its main thread read: by file."""
    files: Files = defaultdict(list)
    at = min(begin for *_, begin, _ in tasks) - 2
    for n in range(12):  # the imports: no task of Dask
        read = Operation("read", 65_536 * n, 65_536, at, at + 0.01, MAIN_THREAD)
        files["/opt/demo/lib/python.zip"].append(read)
        at += 0.05
    for key, prefix, thread, begin, seconds in tasks:
        at = begin + 0.1 * seconds
        if prefix == "load":  # a chunk of the array, piece by piece
            chunk = files[f"{DATA}/velocity.zarr/{key.split(', ')[1]}.0"]
            for n in range(PIECES):
                end, piece = at + 0.15 * seconds, BLOCK // PIECES
                chunk.append(Operation("read", piece * n, piece, at, end, thread))
                at += 0.18 * seconds
        elif prefix in ("fit", "score"):  # a little of a table that all of them use, here and there
            for n in range(6 if prefix == "fit" else 2):
                page = zlib.crc32(f"{key}{n}".encode()) % 500
                read = Operation("read", 4096 * page, 4096, at, at + 0.004, thread)
                files[f"{DATA}/table.parquet"].append(read)
                at += 0.1 * seconds
        elif prefix in ("sum-aggregate", "best"):
            write = Operation("write", 0, 96, at, at + 0.4 * seconds, thread)
            files[f"{DATA}/{prefix}.json"].append(write)
    return {path: sorted(done, key=lambda o: o.start) for path, done in files.items()}


def main() -> None:
    """Write the logs of the run that is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, metavar="RUN")
    run: Path = parser.parse_args().run
    (run / "darshan").mkdir(exist_ok=True)
    hosts = (run / "WorkerNodes").read_text().split()
    workers = executions(run)
    addresses = sorted({worker.rsplit(":", 1)[0] for worker in workers})
    for number, (worker, tasks) in enumerate(workers.items()):
        host = hosts[addresses.index(worker.rsplit(":", 1)[0])]
        name = f"demo_python3.11_id{JOB}-{70_001 + 7 * number}_5-6-25698-{number + 1}_1.darshan"
        kept = KEPT if number == len(workers) - 1 else None
        (run / "darshan" / name).write_bytes(log(operations(tasks), JOB, host, kept))
    killed = f"demo_python3.11_id{JOB}-70090_5-6-25698-9_1.darshan_partial"
    (run / "darshan" / killed).write_bytes(bytes(4096))
    print(f"{len(workers)} logs, and one of a killed process, written to the run's darshan/")


if __name__ == "__main__":
    main()
