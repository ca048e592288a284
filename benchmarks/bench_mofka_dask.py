"""`harvest run` on a generated Dask run, beside pandas' bare read of the same CSVs.

    python benchmarks/bench_mofka_dask.py --rows 1000000 --rounds 3

Each round runs both commands as whole processes, one after the other, and takes CPU time and peak
memory from the operating system.  Only ratios within one call are worth comparing.  The rows that
come out are checked against the generator's own totals.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PANDAS = """
import pathlib, sys
import pandas as pd
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.csv")):
    pd.read_csv(path)
"""


def measure(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak resident memory in MB of a command and its children."""
    code = (
        "import json, resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(json.dumps([u.ru_utime + u.ru_stime, u.ru_maxrss / 1024]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], check=True, capture_output=True, text=True
    )
    cpu, peak = json.loads(done.stdout)
    return cpu, peak


def check(out: Path, totals: dict[str, int]) -> int:
    """Rows written; ends the program when a record type has not the generator's total."""
    import harvest

    rows = harvest.open(out).record_types
    for name, expected in totals.items():
        if name in rows and rows[name] != expected:
            sys.exit(f"{name}: {rows[name]} rows, the generator wrote {expected}")
    return sum(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="CSV rows in all, about")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        generator = Path(__file__).with_name("gen_mofka_dask.py")
        subprocess.run(
            [sys.executable, generator, "--rows", str(options.rows), "--out", run],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        totals = json.loads((run / "manifest.json").read_text())
        read = sum(count for name, count in totals.items() if name.endswith("rows read"))
        os.environ["POLARS_MAX_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
        ours, theirs = [], []
        for number in range(options.rounds):
            out = Path(folder) / f"out{number}"
            ours.append(
                measure(
                    [sys.executable, "-m", "harvest", "run", "-s", f"mofka-dask:{run}",
                     "-k", f"parquet:{out}", "--workers", str(options.workers)]
                )
            )  # fmt: skip
            written = check(out, totals)
            theirs.append(measure([sys.executable, "-c", PANDAS, str(run)]))
        cpu = statistics.median(c for c, _ in ours)
        pandas = statistics.median(c for c, _ in theirs)
        print(f"{read:,} CSV rows read, {written:,} rows written, {options.rounds} rounds")
        print(f"harvest run: {cpu:.2f} CPU s, {read / cpu / 1e3:,.0f} k CSV rows per CPU second, "
              f"peak {max(p for _, p in ours):.0f} MB")  # fmt: skip
        print(f"pandas read: {pandas:.2f} CPU s, peak {max(p for _, p in theirs):.0f} MB")
        ratios = [c / p for (c, _), (p, _) in zip(ours, theirs, strict=True)]
        print(f"ratio of CPU time, harvest to pandas: {statistics.median(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f})")  # fmt: skip


if __name__ == "__main__":
    main()
