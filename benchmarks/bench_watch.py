"""What a round of a watch costs in which one of many files has changed.

    python benchmarks/bench_watch.py darshan LOG [--inputs 1000 10000 100000] [--folder DIR]
    python benchmarks/bench_watch.py ncem        [--inputs 1000 10000 100000] [--folder DIR]

Inputs and dataset are those of ``bench_scale.py``.  Then, in one process, one file changes and a
round is made, three times over:

- notified: the file system has said which file it is;
- polled: all files are looked at, and what is found to have changed is planned;
- whole: all files are looked at, and the source lists all, as the first round does.

It prints CPU seconds of the look and of the round, and peak memory.
"""

import argparse
import re
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench_scale import RECEIVERS, apart, harvest_some, multiply, write_statuses

import harvest
from harvest.pipeline.session import Session
from harvest.recipes.recipe import Endpoint, Recipe
from harvest_watch.inputs import Inputs, Ours
from harvest_watch.loop import make_round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["darshan", "ncem"], help="of which inputs are")
    parser.add_argument("log", type=Path, nargs="?", help="a small Darshan log")
    parser.add_argument("--inputs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--folder", type=Path, help="where to work; enough inodes are needed")
    arguments = parser.parse_args()
    if arguments.kind == "darshan" and arguments.log is None:
        parser.error("darshan needs a LOG")
    print(f"{'inputs':>9}  {'round':<10}{'look':>9}{'round':>9}{'MB':>8}")
    for count in arguments.inputs:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
            inputs, out = Path(scratch) / "in", Path(scratch) / "out"
            if arguments.log is not None:
                apart(harvest_some, arguments.log, inputs, out, count)
            else:
                write_statuses(inputs, range(count))
            time.sleep(2.5)  # until the inputs are old enough for their times to be relied on
            apart(multiply if arguments.log is not None else harvest_statuses, inputs, out)
            apart(measure, arguments.log, inputs, out, count)


def harvest_statuses(inputs: Path, out: Path) -> None:
    """Harvest all receiver statuses of a directory."""
    harvest.run(f"ncem:{inputs}", f"parquet:{out}", workers=1)


def changes(log: Path | None, inputs: Path) -> Iterator[Path]:
    """Change one file after another; gives its path."""
    files = sorted(inputs.iterdir())
    if log is not None:
        files = sorted(files[0].iterdir())
    for minute, file in enumerate(files, 1):
        if log is not None:
            file.unlink()
            shutil.copyfile(log, file)
        else:
            receiver, scan = re.findall(r"\d+", file.stem)[-2:]
            number = int(scan) * RECEIVERS + int(receiver)
            write_statuses(inputs, range(number, number + 1), minute=minute)
        yield file


def measure(log: Path | None, inputs: Path, out: Path, count: int) -> None:
    """Print the table of one number of inputs."""
    recipe = Recipe(
        sources=(Endpoint("ncem" if log is None else "darshan", str(inputs)),),
        sinks=(Endpoint("parquet", str(out)),),
        workers=1,
    )
    session = Session(recipe)
    watched = Inputs([str(inputs)], Ours(session.sinks, [str(inputs)]), settle_s=0)

    def round_of(*, whole: bool) -> None:
        made = make_round(session, watched, whole=whole, patience_s=0, wait_s=0)
        assert made.result is not None

    watched.look()
    round_of(whole=True)
    files = changes(log, inputs)

    def one_changed(*, notified: bool, whole: bool = False) -> tuple[float, float]:
        changed = next(files)
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
