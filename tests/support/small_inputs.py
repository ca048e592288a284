"""Small inputs of every source, in two versions: as first harvested, and as found again later.

Between the versions each source gains an input, one changes, one is deleted, and some units cannot
be read, so that a run over the second has something to add, replace, drop, reject and leave alone.
The same version gives the same bytes everywhere.
"""

import importlib.util
import json
import marshal
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import captures

ROOT = Path(__file__).resolve().parents[2]
TRANSITIONS = ",key,start,finish,called_from,time\n"


def write(folder: Path, version: int, names: Iterable[str] = ()) -> None:
    """Make ``folder`` hold the inputs of a version; files that stay the same are left alone.

    names: of sources, if not of all.
    """
    for name in names or MAKERS:
        wanted = MAKERS[name](version)
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        for path in place.iterdir():
            if path.name not in wanted:
                path.unlink()
        for file, data in wanted.items():
            path = place / file
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
                # not a time of the test's run, so that equal inputs are equal everywhere
                os.utime(path, ns=(0, 1_700_000_000_000_000_000 + version * 10**9))


def sources(folder: Path) -> list[str]:
    """The sources that have inputs there, each with its location."""
    return [f"{name}:{folder / name}" for name in MAKERS if (folder / name).exists()]


def settings() -> list[str]:
    """Settings that the sources want."""
    return ["slurm.timezone=UTC", "pbs.timezone=UTC"]


def _versions(
    both: dict[str, bytes], first: dict[str, bytes], second: dict[str, bytes]
) -> Callable[[int], dict[str, bytes]]:
    return lambda version: {**both, **(first if version == 1 else second)}


def _transitions(worker: int, rows: int, *more: str, name: str = "task") -> bytes:
    lines = [
        f"{n},{name}-{worker}-{n},released,waiting,tcp://10.0.0.{worker}:1,{1713553301 + n}.25\n"
        for n in range(rows)
    ]
    return "".join((TRANSITIONS, *lines, *more)).encode()


def _mofka() -> Callable[[int], dict[str, bytes]]:
    example = next((ROOT / "examples" / "dask-run").iterdir())
    copied = {
        name: (example / name).read_bytes()
        for name in ("scheduler_transition.csv", "graph.csv", "worker.csv", "WorkerNodes")
    }
    return _versions(
        copied,
        {
            "worker_transition_1.csv": _transitions(1, 40),
            "worker_transition_2.csv": _transitions(2, 40, "9,damaged\n"),
            "client.csv": (example / "client.csv").read_bytes(),
        },
        {
            # too large to be read together with others, so that two workers have something to do
            "worker_transition_1.csv": _transitions(
                1, 90, "9,damaged\n", "10,cut", name="long" * 3_000
            ),
            "worker_transition_2.csv": _transitions(2, 40, "9,damaged\n"),
            "worker_transition_3.csv": _transitions(3, 60),
        },
    )


def _dask() -> Callable[[int], dict[str, bytes]]:
    files = {name: captures.frames(contents) for name, contents in captures.example().items()}
    scheduler, worker, client = files.values()
    flipped = worker[:-20] + bytes([worker[-20] ^ 1]) + worker[-19:]
    return _versions(
        {"capture.json": captures.MARK, "scheduler-s.cap": scheduler},
        {"worker-1.cap": worker[:-9], "client-1.cap": client},
        {"worker-1.cap": worker, "worker-2.cap": flipped},
    )


def _darshan_log(pid: int) -> bytes:
    """The smallest log of version 3.41: a job and a name."""
    pack = zlib.compress
    job = struct.pack("<7q", 1000, 1_700_000_000, 0, 1_700_000_010, 0, 1, pid)
    text = b"lib_ver=3.4.4\n".ljust(1024, b"\0") + b"./a.out\next4\t/\0"
    body, names = pack(job + text), pack(struct.pack("<Q", 7) + b"/scratch/x\0")
    head = struct.Struct("<8sqB7xQQQ128Q64I")
    place = (head.size + len(body), len(names))
    return head.pack(b"3.41", 6567223, 0, 0, *place, *[0] * 128, *[0] * 64) + body + names


def _darshan() -> Callable[[int], dict[str, bytes]]:
    def log(pid: int) -> tuple[str, bytes]:
        return f"ann_a.out_id{pid}-{pid}_11-14-1-2_1.darshan", _darshan_log(pid)

    return _versions(dict([log(11)]), dict([log(12)]), dict([log(13)]))


def _slurm() -> Callable[[int], dict[str, bytes]]:
    def dump(first: int, count: int, *more: str) -> bytes:
        lines = [
            f"{n}|job {n}|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:{n % 60:02d}\n"
            for n in range(first, first + count)
        ]
        return "".join(
            ("JobID|JobName|User|State|ExitCode|Elapsed|Start\n", *lines, *more)
        ).encode()

    return _versions(
        {"a.txt": dump(1, 30)},
        {"b.txt": dump(100, 30), "c.txt": dump(200, 5)},
        {"b.txt": dump(100, 45, "x|odd|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:00\n")},
    )


def _pbs() -> Callable[[int], dict[str, bytes]]:
    def log(first: int, count: int, *more: str) -> bytes:
        ends = [
            f"04/19/2024 10:00:{n % 60:02d};E;{n}.pbs01;user=ann queue=workq ctime=1713520800 "
            f"start=1713520860 end=1713520920 Exit_status=0 resources_used.ncpus=4\n"
            for n in range(first, first + count)
        ]
        return "".join((*ends, *more)).encode()

    return _versions(
        {"20240419": log(1, 30)},
        {"20240420": log(100, 30), "20240421": log(200, 5)},
        {"20240420": log(100, 45, "04/20/2024 10:00:00;E;1.pbs01;lost\n")},
    )


def _ncem() -> Callable[[int], dict[str, bytes]]:
    def status(receiver: int, scan: int) -> tuple[str, bytes]:
        told = {"time": "2023-10-16T15:30:41+00:00", "last_scan_number": scan, "progress": 100.0}
        told["UUID"] = "0a1b2c3d-0001-4000-8000-00000000000f"
        return f"4dstem_rec_status_{receiver}_scan_{scan}.json", json.dumps(told).encode()

    table = b"scan_number,time0,time1\n%d,2023-10-16T15:30:41+00:00,2023-10-16T15:30:42+00:00\n"
    return _versions(
        dict([status(0, 12), status(1, 12)]),
        {"times.csv": table % 700, "log_scan12.txt": b"log"},
        {"times.csv": table % 701, **dict([status(0, 1300)])},
    )


def _distiller() -> Callable[[int], dict[str, bytes]]:
    def export(*rows: str) -> bytes:
        return "\n".join(("id,slurm_id,elapsed", *rows, "")).encode()

    return _versions(
        {"128_128.csv": export("1930,58250603,00:04:19", "1928,,")},
        {"256_256.csv": export("7,8,00:00:01")},
        {"512_512.csv": export("9,10,00:00:02", "nonsense")},
    )


def _yappi() -> Callable[[int], dict[str, bytes]]:
    def profile(calls: int) -> bytes:
        main, work = ("/code/run.py", 3, "main"), ("/code/run.py", 9, "work")
        stats = {
            main: (1, 1, 0.5, 2.0, {}),
            work: (calls, calls, 1.5, 1.5, {main: (calls, calls, 1.5, 1.5)}),
        }
        return marshal.dumps(stats, 2)

    return _versions({"a.pstat": profile(4)}, {"b.pstat": profile(5)}, {"b.pstat": profile(6)})


def _gpfs() -> Callable[[int], dict[str, bytes]]:
    def listing(first: int, count: int) -> bytes:
        time = "2026-01-10 10:00:00"
        return "".join(
            f"{n} 5 0  |size={n}|kballoc=16|access={time}|create={time}|modify={time}|uid=1000"
            f"|gid=100|heat=0.5|pool=data|misc=FAu| -- %2Fgpfs%2Fa%2Ffile{n}\n"
            for n in range(first, first + count)
        ).encode()

    return _versions(
        {"all.list": listing(1000, 20)},
        {"some.list": listing(2000, 10)},
        {"some.list": listing(2000, 30), "more.list": listing(3000, 5)},
    )


def _installed(source: str) -> bool:
    package = f"harvest_{source.replace('-', '_')}"
    module = {"dask": "records.captures.source"}.get(source, "source")
    return bool(importlib.util.find_spec(package)) and bool(
        importlib.util.find_spec(f"{package}.{module}")
    )


MAKERS = {
    name: make()
    for name, make in {
        "mofka-dask": _mofka,
        "dask": _dask,
        "darshan": _darshan,
        "slurm": _slurm,
        "pbs": _pbs,
        "ncem": _ncem,
        "distiller": _distiller,
        "yappi": _yappi,
        "gpfs": _gpfs,
    }.items()
    if _installed(name)
}


def copy(source: Path, target: Path) -> None:
    """A copy of a dataset with the same times."""
    shutil.copytree(source, target, symlinks=True, copy_function=shutil.copy2)
