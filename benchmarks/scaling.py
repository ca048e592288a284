"""How much sooner two workers are done than one, and how much of that the machine allows.

    python benchmarks/scaling.py SOURCE:LOCATION [--rounds 5]

Three things are timed in turns, each as whole processes of ``harvest run`` into Parquet: one with
one worker, one with two, and two with one worker each, side by side.  The last tells what two of
the machine's cores are good for: cores that share their units, or are lent by a busy host, do less
than twice the work of one.

- ``two workers``: time of one worker by that of two.
- ``machine``: twice the time of one run by that of two side by side; 2 where cores are of their
  own.
- ``workers / machine``: time of two runs side by side by that of one with two workers, which has
  half of their work to do on the same cores.  It says what is lost to starting, planning and
  committing, whatever the machine.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def scaling(source: str, scratch: Path, rounds: int) -> dict[str, float]:
    """The medians of the ratios over so many rounds, after one that warms up."""
    ratios: list[tuple[float, float, float]] = []
    for number in range(rounds + 1):
        one = timed(source, scratch, 1)
        two = timed(source, scratch, 2)
        pair = timed(source, scratch, 1, 1)
        if number:
            ratios.append((one / two, 2 * one / pair, pair / two))
    names = ("two workers", "machine", "workers / machine")
    return dict(zip(names, map(statistics.median, zip(*ratios, strict=True)), strict=True))


def timed(source: str, scratch: Path, *workers: int) -> float:
    """Seconds until runs with so many workers each, begun at once, are all done."""
    places = [scratch / f"out{number}" for number in range(len(workers))]
    begun = time.perf_counter()
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "harvest", "run", "-s", source, "-k", f"parquet:{place}",
             "--workers", str(count)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for place, count in zip(places, workers, strict=True)
    ]  # fmt: skip
    codes = [run.wait() for run in runs]
    seconds = time.perf_counter() - begun
    if not set(codes) <= {0, 3}:
        raise SystemExit(f"a run ended with {codes}")
    for place in places:
        shutil.rmtree(place)
    return seconds


def told(ratios: dict[str, float]) -> str:
    """The ratios as lines."""
    return "\n".join(f"  {name:<20}{ratio:8.2f}" for name, ratio in ratios.items())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(told(scaling(arguments.source, Path(folder), arguments.rounds)))
