"""Mutated logs: whatever is in them, a log gives rows and rejects that add up.

By day there are a few hundred, at night thousands.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest
from night import NIGHT

pytestmark = pytest.mark.slow

SCRIPT = """
import random, resource, sys, time
from pathlib import Path

limit = 3 << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
seconds = 60 + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
from harvest import collect
from harvest_darshan.source import DarshanSource

seeds = [Path(name).read_bytes() for name in sys.argv[3:]]
path = Path(sys.argv[1])
chance = random.Random(20240419)
read = rejected = 0
slowest = 0.0
for number in range(int(sys.argv[2])):
    data = bytearray(chance.choice(seeds))
    kind = chance.randrange(5)
    if kind == 0:
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del data[chance.randrange(len(data)):]
    elif kind == 2:
        other, size = chance.choice(seeds), chance.randint(1, 400)
        start, place = chance.randrange(len(other)), chance.randrange(len(data))
        data[place:place + size] = other[start:start + size]
    elif kind == 3:
        # what the header says of places, lengths and versions
        place = chance.randrange(0, min(1400, len(data) - 8))
        data[place:place + 8] = chance.choice(
            [b"\\xff" * 8, bytes(8), chance.randbytes(8), (len(data) - 1).to_bytes(8, "little")]
        )
    else:
        place = chance.randrange(len(data))
        data[place:place] = chance.randbytes(chance.randint(1, 64))
    path.write_bytes(data)
    began = time.process_time()
    try:
        found = collect(DarshanSource(str(path)))
    except BaseException:
        print("mutant", number, "kept at", path, file=sys.stderr)
        raise
    slowest = max(slowest, time.process_time() - began)
    assert found.units == found.accounted, (number, found.units, found.accounted)
    assert found.tables or found.rejects, number
    read += bool(found.tables)
    rejected += bool(found.rejects)
# not ru_maxrss, which includes that of the parent before this program began
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
print(read, rejected, round(slowest, 2), peak)
"""


@pytest.fixture
def seeds(log_writer, make_dxt, tmp_path) -> list[str]:
    """Logs to mutate: all modules, both orders, all compressions, and the real ones nearby."""
    paths = []
    for order in "<>":
        stdio = struct.pack(order + "Qq14q15d", 7, 0, *range(14), *[0.5] * 15)
        posix = struct.pack(order + "Qq69q17d", 7, 0, *range(69), *[0.5] * 17)
        heat = struct.pack(order + "QqdqQQ4q", 7, 0, 0.5, 2, 0, 0, 1, 2, 3, 4)
        comps = struct.pack(order + "7q16s", 4096, 2, 0, 0, 0, 0, 0, b"p")
        lustre = struct.pack(order + "Qqqq", 7, 0, 1, 2) + comps + struct.pack(order + "2q", 1, 2)
        variant = make_dxt(order, 7, [(0, 1, 0.0, 1.0, "pthread_id=5")] * 9)
        stock = make_dxt(order, 7, [(0, 1, 0.0, 1.0)] * 9, [(0, 1, 0.0, 1.0)] * 5)
        modules = {
            "POSIX": (4, posix * 3),
            "LUSTRE": (2, lustre * 3),
            "STDIO": (2, stdio * 3),
            "DXT_POSIX": (1, variant * 2),
            "DXT_MPIIO": (2, stock * 2),
            "HEATMAP": (1, heat * 2),
        }
        for compression in ("zlib", "bzip2", "none"):
            path = tmp_path / f"seed{'le' if order == '<' else 'be'}-{compression}"
            writer = log_writer(order=order, compression=compression, modules=modules)
            path.write_bytes(writer.build())
            paths.append(str(path))
    real = [p / "shared/data" for p in Path(__file__).parents if (p / "shared/data").is_dir()]
    found = sorted(real[0].rglob("*.darshan")) if real else []
    return paths + [str(log) for log in found[::6]]


@pytest.mark.parametrize("count", [10000 if NIGHT else 300])
def test_mutated_logs(seeds, tmp_path, count):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "mutant"), str(count), *seeds],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    read, rejected, slowest, peak = map(float, done.stdout.split())
    print(f"{count} mutants: {read:.0f} gave rows, {rejected:.0f} rejects, "
          f"slowest {slowest} s of CPU, peak {peak:.0f} MB")  # fmt: skip
    assert read
    assert rejected
    assert peak < 512
