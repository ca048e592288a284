"""What a round of a watch costs in which one of many files has changed.

    python benchmarks/bench_watch.py LOG [--inputs 1000 10000 100000] [--folder DIR]

Inputs and dataset are those of ``bench_scale.py``.  Then, in one process, one log changes and a
round is made, three times over:

- notified: the file system has said which file it is;
- polled: all files are looked at, and what is found to have changed is planned;
- whole: all files are looked at, and the source lists all, as the first round does.

It prints CPU seconds of the look and of the round, and peak memory.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench_scale import apart, harvest_some, multiply

from harvest.pipeline.prepare import prepare_sinks, prepare_sources
from harvest.pipeline.recipe import Endpoint, Recipe
from harvest.plugins.registry import manager
from harvest.watch.inputs import Inputs, Ours
from harvest.watch.rounds import make_round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path, help="a small Darshan log")
    parser.add_argument("--inputs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--folder", type=Path, help="where to work; enough inodes are needed")
    arguments = parser.parse_args()
    print(f"{'inputs':>9}  {'round':<10}{'look':>9}{'round':>9}{'MB':>8}")
    for count in arguments.inputs:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
            inputs, out = Path(scratch) / "in", Path(scratch) / "out"
            apart(harvest_some, arguments.log, inputs, out, count)
            time.sleep(2.5)  # until the inputs are old enough for their times to be relied on
            apart(multiply, inputs, out)
            apart(measure, arguments.log, inputs, out, count)


def measure(log: Path, inputs: Path, out: Path, count: int) -> None:
    """Print the table of one number of inputs."""
    recipe = Recipe(
        sources=(Endpoint("darshan", str(inputs)),),
        sinks=(Endpoint("parquet", str(out)),),
        workers=1,
    )
    plugins = manager()
    uses, sinks = prepare_sources(recipe, plugins), prepare_sinks(recipe, plugins)
    watched = Inputs([str(inputs)], Ours(sinks, [str(inputs)]), settle_s=0)

    def round_of(*, whole: bool) -> None:
        made = make_round(
            recipe, plugins, uses, sinks, watched, whole=whole, patience_s=0, wait_s=0
        )
        assert made.result is not None

    watched.look()
    round_of(whole=True)
    logs = iter(sorted((inputs / "0000").iterdir()))

    def one_changed(*, notified: bool, whole: bool = False) -> tuple[float, float]:
        changed = next(logs)
        changed.unlink()
        shutil.copyfile(log, changed)
        looked = cpu_seconds(
            lambda: watched.look_at([str(changed)]) if notified else watched.look()
        )
        return looked, cpu_seconds(lambda: round_of(whole=whole))

    one_changed(notified=True)  # which loads the reader
    rounds = {
        "notified": one_changed(notified=True),
        "polled": one_changed(notified=False),
        "whole": one_changed(notified=False, whole=True),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    for name, (looked, done) in rounds.items():
        print(f"{count:>9}  {name:<10}{looked:>9.3f}{done:>9.3f}{peak:>8}", flush=True)


def cpu_seconds(work: Callable[[], object]) -> float:
    """What some work costs this process."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
