"""What a very large harvest takes, on paper: constants that were measured, and what follows.

    python benchmarks/simulate_scale.py

For a first run and for a night with few changes, on a node and on many: how long each step takes
and which decides (``*``).  A step is shared by all cores, or done by the one process that plans and
commits, or by the file system's metadata server.  The first two follow from CPU seconds that were
measured, the last from a rate that is assumed.  docs/operate/scale.md shows the output and says
what to choose.
"""

from dataclasses import dataclass

# --- measured, in CPU seconds, on a virtual machine of two busy cores -----------------------------

READ_INPUT = 6.4e-3
"""Opening, reading and staging a small Darshan log, by a worker, beside its rows."""

READ_ROW = 1 / 540_000
"""Reading a row of a GPFS list (329 bytes) and writing it as Parquet; of a Dask CSV 1 / 160,000."""

PLAN_INPUT = 0.1e-3
"""Listing an input and asking for its state (``bench_scale.py``, plan)."""

COMPARE_INPUT = 0.06e-3
"""The same, and comparing it with the state (``bench_scale.py``, nothing new)."""

COMMIT_INPUT = 0.6e-3
"""Putting the rows of a small input in a shared file, and its part in the state."""

STATE_INPUT = 2e-6
"""Loading a part with the state, once a run."""

HELD_READ = 7e3
"""Bytes that a run holds of a partition that it read, until the commit."""

HELD_UNCHANGED = 1.3e3
"""Bytes that a run holds of a partition that is unchanged (``bench_scale.py``, nothing new)."""

STATE_BYTES = 143
"""Bytes of a part in the state on disk, its copy included (``bench_scale.py``, state)."""

LISTED = 2
"""Operations of the file system for an input that is listed: its name, its state."""

READ = 12
"""More of them for one that is read, by ``strace -c`` of runs of 200 and of 1,200 logs."""

# --- assumed of the site --------------------------------------------------------------------------

METADATA_RATE = 10_000
"""Operations a second that the metadata server does for one user."""

EFFICIENCY = 0.8
"""What is left of a core's speed where all cores of a node work."""


@dataclass(frozen=True)
class Work:
    """What a run has to do: inputs that it lists, those that it reads, and rows in all of these."""

    name: str
    listed: float
    read: float
    rows: float


WORKS = (
    Work("10^9 rows in 10^7 small inputs, one run", listed=1e7, read=1e7, rows=1e9),
    Work("a tenth of it: 10^8 rows in 10^6 small inputs", listed=1e6, read=1e6, rows=1e8),
    Work("10^9 rows in 10^3 large inputs, one run", listed=1e3, read=1e3, rows=1e9),
    Work("a night: of 10^7 small inputs 10^4 are new", listed=1e7, read=1e4, rows=1e6),
    Work("the same by day: 10^6 inputs listed, 10^4 new", listed=1e6, read=1e4, rows=1e6),
)

MACHINES = {"1 core": 1, "64 cores": 64, "16 x 64 cores": 1_024}


def seconds(work: Work, cores: int) -> dict[str, float]:
    """How long each step of a run takes, by the clock."""
    unchanged = work.listed - work.read
    return {
        "plan": work.read * PLAN_INPUT + unchanged * (COMPARE_INPUT + STATE_INPUT),
        "read": (work.read * READ_INPUT + work.rows * READ_ROW) / (cores * EFFICIENCY),
        "commit": work.read * COMMIT_INPUT,
        "metadata": (work.listed * LISTED + work.read * READ) / METADATA_RATE,
    }


def in_words(number: float) -> str:
    """Seconds as people say them."""
    for size, unit in ((3_600, "h"), (60, "min")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.1f} s"


def main() -> None:
    for work in WORKS:
        print(work.name)
        print(f"  {'':<14}" + "".join(f"{step:>11}" for step in seconds(work, 1)))
        for name, cores in MACHINES.items():
            steps = seconds(work, cores)
            most = max(steps.values())
            cells = [in_words(took) + ("*" if took == most else " ") for took in steps.values()]
            print((f"  {name:<14}" + "".join(f"{cell:>12}"[1:] for cell in cells)).rstrip())
        held = work.read * HELD_READ + (work.listed - work.read) * HELD_UNCHANGED
        state = work.listed * STATE_BYTES
        print(f"  the process that plans holds {held / 1e9:.2f} GB, the state {state / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
