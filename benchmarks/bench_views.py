"""What a view costs at two sizes of its input, beside the same question in SQL over the same files.

    python benchmarks/bench_views.py [--turns 3] SMALL LARGE

SMALL and LARGE are datasets of the same record types, LARGE with about ten times the rows.  Each
figure is of a process of its own: CPU seconds with the start, the most memory it held, and the
bytes of the Parquet files that it read (``rchar`` of /proc).  The SQL asks DuckDB, on one thread,
for the central columns of the view: it knows neither repeated jobs nor periods nor what is not
recorded.  Views and SQL take turns, so that ratios hold on a busy machine too; compare ratios, not
seconds.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
HOURS = "sum(cpu_time_s) / 3600 as hours"
WAIT = "epoch(start_time - submit_time)"

QUESTIONS = {
    "slurm.usage": (
        "slurm.job",
        f'select "user", count(*), {HOURS}, sum(s.used) / 3600,'
        f" count(*) filter (state = 'failed'), median({WAIT}) from t left join"
        " (select job_position as p, max(total_cpu_s) as used from s group by 1) as s"
        " on p = position group by 1 order by hours",
    ),
    "slurm.trend": (
        "slurm.job",
        f"select strftime(end_time, '%Y-%m') as m, count(*), {HOURS} from t group by 1 order by 1",
    ),
    "slurm.failures": (
        "slurm.job",
        f'select state, exit_code, exit_signal, "user", count(*), {HOURS} from t'
        " where state <> 'completed' group by all order by 5 desc",
    ),
    "slurm.queue_time": (
        "slurm.job",
        f'select "partition", count(*), median({WAIT}), quantile_cont({WAIT}, 0.9), max({WAIT})'
        " from t group by 1",
    ),
    "gpfs.owners": (
        "gpfs.file",
        "select uid, count(*), sum(size_bytes) as b, sum(allocated_bytes), max(modify_time) from t"
        " group by 1 order by b desc",
    ),
    "gpfs.directories": (
        "gpfs.file",
        "select regexp_extract(path, '^(/[^/]*){0,3}') as d, count(*), sum(size_bytes) as b from t"
        " group by 1 order by b desc",
    ),
    "gpfs.candidates": (
        "gpfs.file",
        "select uid, path, size_bytes, access_time from t where access_time < (select"
        " max(access_time) from t) - interval 180 day order by size_bytes desc limit 1000",
    ),
    "gpfs.ages": (
        "gpfs.file",
        "select date_trunc('year', access_time) as y, count(*), sum(size_bytes) from t group by 1",
    ),
    "dask.tasks": (
        "dask.execution",
        "select key, min(start_time), max(end_time), count(*) from t group by 1",
    ),
    "dask.run_summary": (
        "dask.execution",
        "select origin, count(*), count(distinct key), sum(end_time - start_time) from t"
        " group by 1",
    ),
}

SETTINGS = {name: {"now": "2026-01-11"} for name in ("gpfs.candidates", "gpfs.ages")}
"""Generated lists do not say when they were made."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs=2, type=Path, metavar="DATASET")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        ask(*arguments.one, arguments.datasets[0])
        return
    import harvest

    held = set(harvest.open(arguments.datasets[0]).record_types)
    print(f"{'view':<18}{'':>6}{'CPU s':>8}{'MiB':>7}{'read MiB':>10}{'SQL s':>8}{'ratio':>7}")
    for name, (kind, _) in QUESTIONS.items():
        if kind not in held:
            continue
        memory = []
        for size, dataset in zip(("1x", "10x"), arguments.datasets, strict=True):
            turns = [
                (measured("view", name, dataset), measured("sql", name, dataset))
                for _ in range(arguments.turns)
            ]
            view = min((v for v, _ in turns), key=lambda one: one["cpu"])
            sql = min(s["cpu"] for _, s in turns)
            memory.append(view["mib"])
            numbers = f"{view['cpu']:>8.2f}{view['mib']:>7.0f}{view['read']:>10.1f}{sql:>8.2f}"
            print(f"{name:<18}{size:>6}{numbers}{view['cpu'] / sql:>7.1f}", flush=True)
        print(f"{'':<18}{'memory':>6} x {memory[1] / memory[0]:.2f}")


def measured(how: str, name: str, dataset: Path) -> dict[str, float]:
    """What one question costs in a process of its own."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, str(HERE), str(dataset), str(dataset), "--one", how, name]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def ask(how: str, name: str, dataset: Path) -> None:
    """Ask, and print what it cost."""
    import resource

    if how == "view":
        import harvest

        harvest.open(dataset).view(name, **SETTINGS.get(name, {})).collect(engine="streaming")
    else:
        import duckdb

        kind, sql = QUESTIONS[name]
        database = duckdb.connect()
        database.execute("set threads = 1")
        for table, of in (("t", kind), ("s", "slurm.step")):
            if any((dataset / of).rglob("*.parquet")):
                files = str(dataset / of / "**" / "*.parquet")
                database.read_parquet(files, union_by_name=True).create_view(table)
        database.sql(sql).to_arrow_table()
    used = resource.getrusage(resource.RUSAGE_SELF)
    read = next(line for line in Path("/proc/self/io").read_text().splitlines() if "rchar" in line)
    cost = {
        "cpu": used.ru_utime + used.ru_stime,
        "mib": used.ru_maxrss / 1024,
        "read": int(read.split()[1]) / 2**20,
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
