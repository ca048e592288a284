"""Writers of all kinds beside readers of all kinds, for many commits: nobody gets in another's way.

By day a round of one form, at night until there are 200 commits of each.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import soaking
from datasets import SETTINGS, Small
from night import NIGHT, SEED

import harvest

COMMITS = 200 if NIGHT else 6
WRITERS = 4 if NIGHT else 2
READERS = ["python", "commands", "verify"] if NIGHT else ["python,commands,verify"]
ACTIONS = 5 if NIGHT else 3
"""What each writer does in a round."""
PATIENCE_S = 1_800


@contextlib.contextmanager
def others(small: Small, *words: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes of ``soaking``, one for each word; none is left."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "soaking", word, str(small.folder), small.form, f"{SEED} {n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for n, word in enumerate(words)
    ]
    late = threading.Timer(PATIENCE_S, lambda: [process.kill() for process in processes])
    late.start()
    try:
        yield processes
    finally:
        late.cancel()
        for process in processes:
            process.kill()
            process.communicate()


def say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # what it said last is the reason
        process.stdin.write(line)
        process.stdin.flush()


def report_of(process: subprocess.Popen[str]) -> Counter[str]:
    """What a process says that it did; fails with its error where it has ended by one."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, f"seed {SEED}: {process.stderr.read()}"
    return Counter(json.loads(line))


def require_all_well(small: Small, fresh: Path) -> None:
    """Once all inputs are harvested, it is as if nothing had been before; each state is kept."""
    small.harvest(wait_s=60)
    inputs = small.inputs
    harvest.run(f"slurm:{inputs}", f"parquet:{fresh}", settings=SETTINGS, workers=1)
    jobs = harvest.open(fresh)["slurm.job"].sort("origin", "position").collect()
    assert small.jobs() == [int(number) for number in jobs["job_id"]], SEED
    assert list(small.open().rejects()) == list(harvest.open(fresh).rejects()), SEED
    assert small.open().verify() == [], SEED
    manifest = small.manifest()
    assert manifest.runs[-1 - len(manifest.kept) :] == (*manifest.kept, manifest.run), SEED


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gz", "parquet", "jsonl"])
def test_writers_and_readers_side_by_side(form: str, tmp_path: Path) -> None:
    # given two states of a dataset
    small = Small(tmp_path, form)
    for generation in (1, 2):
        for name in soaking.INPUTS:
            soaking.change(small, name, generation)
        small.harvest(keep_runs=5)
    wrote: Counter[str] = Counter()
    read: Counter[str] = Counter()
    rounds = 0

    with others(small, *READERS, *["writer"] * WRITERS) as processes:
        readers, writers = processes[: len(READERS)], processes[len(READERS) :]
        while len(small.manifest().runs) < COMMITS:
            # when writers of all kinds act in turn and at once, while readers read
            for writer in writers:
                say(writer, f"{ACTIONS}\n")
            for writer in writers:
                wrote += report_of(writer)
            for reader in readers:
                if reader.poll() is not None:
                    report_of(reader)
            # then after each round all that counts is what the inputs are
            rounds += 1
            require_all_well(small, tmp_path / f"fresh{rounds}")
        for reader in readers:
            say(reader, "enough\n")
        for reader in readers:
            read += report_of(reader)

    commits = len(small.manifest().runs)
    print(f"{form}, seed {SEED}: {commits} commits in {rounds} rounds; {wrote}; {read}")
    assert commits >= COMMITS
    assert all(read[kind] for kind in soaking.READERS)
