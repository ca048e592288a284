"""Write the inputs of an invented study, in the forms that the real tools leave.

    python make_study.py study-inputs

makes, from a fixed seed,

    study-inputs/sacct.csv              Slurm's accounting of the processing jobs
    study-inputs/distiller/*.csv        Distiller's rows, a file per scan size
    study-inputs/ncem/*.csv             receiver times, last writes, HDF5 write times at NERSC
    study-inputs/ncem/receivers/*.json  receiver statuses of the largest scans

with the oddities that real ones have: a bogus scan 0, receivers that are missing, doubled zone
offsets, jobs that failed, ran too long or never got a Slurm id.  The numbers are invented.
"""

import argparse
import csv
import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

PACIFIC = ZoneInfo("America/Los_Angeles")

# size: streamed scans, seconds between them, streaming time; offload scans, offload time;
# number of file-transfer jobs and their typical elapsed time
SIZES = {
    128: ((2709, 3688), 5, 6.5, (4858, 4887), 2.7, 260, 48),
    256: ((3813, 4226), 15, 9.5, (4828, 4857), 7.9, 220, 66),
    512: ((4227, 4644), 55, 24.0, (4798, 4827), 33.2, 120, 110),
    1024: ((4653, 4698), 140, 84.0, (4768, 4797), 149.4, 80, 250),
}


def main() -> None:
    """Write the study's inputs into the directory that is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=2023)
    options = parser.parse_args()
    write(options.folder, random.Random(options.seed))  # noqa: S311 - no secret is made of it
    print(f"written to {options.folder}")


def write(folder: Path, rng: random.Random) -> None:
    """All files of the study."""
    for name in ("distiller", "ncem/receivers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    write_streaming(folder / "ncem", rng)
    write_offload(folder / "ncem", rng)
    write_jobs(folder, rng)


def receiver_times(begin: datetime, rng: random.Random) -> list[datetime | None]:
    """When each of the four receivers said that the scan began; rarely one is missing."""
    times: list[datetime | None] = [
        begin + timedelta(seconds=rng.choice([0, 0, 0, 1])) for _ in range(4)
    ]
    if rng.random() < 0.02:
        times[rng.randrange(4)] = None
    return times


def utc(time: datetime | None, rng: random.Random) -> str:
    """A time as the receivers write it; now and then with the zone offset doubled."""
    if time is None:
        return ""
    return time.isoformat() + ("+00:00" if rng.random() < 0.01 else "")


def write_streaming(folder: Path, rng: random.Random) -> None:
    """Receiver times of streamed scans, and when their HDF5 files were written at NERSC."""
    with (folder / "ncem_file_created_times.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["scan_number", "time0", "time1", "time2", "time3"])
        begin = datetime(2023, 10, 13, 16, 45, 8, tzinfo=UTC)
        table.writerow([0, *(utc(begin + timedelta(hours=n), rng) for n in range(4))])
        for size, ((first, last), pause, typical, *_) in SIZES.items():
            written: list[tuple[int, datetime]] = []
            for scan in range(first, last + 1):
                begin += timedelta(seconds=pause)
                times = receiver_times(begin, rng)
                if size == 1024:
                    write_statuses(folder / "receivers", scan, times, rng)
                else:
                    table.writerow([scan, *(utc(t, rng) for t in times)])
                if rng.random() < 0.995:
                    slow = rng.lognormvariate(0, 0.15) * (6 if rng.random() < 0.01 else 1)
                    written.append((scan, begin + timedelta(seconds=typical * slow)))
            begin += timedelta(minutes=20)
            write_nersc(folder / f"scan_times_{first}_{last}.csv", written)


def write_statuses(
    folder: Path, scan: int, times: list[datetime | None], rng: random.Random
) -> None:
    """A scan as the receivers themselves tell of it."""
    take = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    for receiver, time in enumerate(times):
        if time is not None:
            told = {
                "time": utc(time, rng),
                "last_scan_number": scan,
                "progress": 100.0,
                "UUID": take,
            }
            name = f"4dstem_rec_status_{receiver}_scan_{scan}.json"
            (folder / name).write_text(json.dumps(told))


def write_nersc(path: Path, written: list[tuple[int, datetime]]) -> None:
    """Modification times as the cluster's shell prints them: local, without a zone."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["distiller_id", "scan_number", "datetime"])
        for scan, time in written:
            local = time.astimezone(PACIFIC).strftime("%Y-%m-%d %H:%M:%S")
            table.writerow([f"{scan - 500:05d}", scan, local])


def write_offload(folder: Path, rng: random.Random) -> None:
    """Receiver times and the last write of scans that were offloaded for file transfer."""
    with (folder / "write_times.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["scan_number", *(f"time{n}" for n in range(4)), "time_last_written"])
        begin = datetime(2023, 10, 17, 13, 26, 38, tzinfo=UTC)
        for _, _, _, (first, last), typical, *_ in sorted(SIZES.values(), key=lambda s: s[3]):
            for scan in range(first, last + 1):
                begin += timedelta(seconds=round(typical + 30))
                took = round(typical * rng.lognormvariate(0, 0.04))
                times = [utc(t, rng) for t in receiver_times(begin, rng)]
                table.writerow([scan, *times, utc(begin + timedelta(seconds=took), rng)])


def clock(seconds: float) -> str:
    """A duration as Slurm and Distiller write it."""
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def jobs_of(size: int, rng: random.Random) -> Iterator[tuple[float, str]]:
    """Elapsed seconds and exit code of the jobs of a size."""
    *_, count, typical = SIZES[size]
    for _ in range(count):
        draw = rng.random()
        if draw < 0.02:
            yield 1816.0, "0:0"  # hung until its time limit
        elif draw < 0.04:
            yield rng.uniform(5, 20), "1:0"
        else:
            yield 8 + typical * rng.lognormvariate(0, 0.35), "0:0"


def write_jobs(folder: Path, rng: random.Random) -> None:
    """Slurm's accounting, and Distiller's rows of the same jobs."""
    job, scan, begin = 62_400_000, 5_000, datetime(2023, 2, 1, 9, 0)  # noqa: DTZ001 - local
    columns = "Job Name,Job ID,Timelimit,Elapsed,Submit,Start,End,ReqNodes,QOS,User,ExitCode"
    with (folder / "sacct.csv").open("w", newline="") as accounting:
        sacct = csv.writer(accounting)
        sacct.writerow(columns.split(","))
        for size in SIZES:
            path = folder / "distiller" / f"{size}_{size}.csv"
            with path.open("w", newline="") as export:
                rows = csv.writer(export)
                rows.writerow(["id", "slurm_id", "elapsed"])
                for elapsed, code in jobs_of(size, rng):
                    job, scan = job + rng.randrange(1, 40), scan + 1
                    begin += timedelta(minutes=rng.randrange(3, 90))
                    start = begin + timedelta(seconds=int(rng.expovariate(1 / 20)))
                    end = start + timedelta(seconds=int(elapsed))
                    times = [t.isoformat() for t in (begin, start, end)]
                    name = f"distiller-count-{scan - 500}"
                    sacct.writerow(
                        [name, job, "00:30:00", clock(elapsed), *times, 4, "realtime_m3795",
                         "dstlr", code]
                    )  # fmt: skip
                    if rng.random() < 0.01:
                        rows.writerow([scan, "", ""])  # never got a Slurm id
                    rows.writerow([scan, job, clock(elapsed)])


if __name__ == "__main__":
    main()
