"""Writers and readers of one dataset, each a process that does what it is told, at random.

``python -m soaking writer|KIND,KIND FOLDER FORM SEED``: a line ``N`` on standard input lets it act
N times and report in a line of JSON; a reader acts without end until the input is closed.

There are always the same inputs, each of some generation, which its rows show: a state is whole
where all rows of an input are those of one generation, and no input lacks.
"""

from __future__ import annotations

import json
import os
import random
import select
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

from commands import harvest_here
from datasets import Small, dump

import harvest
from harvest.dataset import Dataset
from harvest.dataset.repair import repair, replay
from harvest.errors import DatasetError
from harvest.pipeline.rollback import keep_runs, roll_back

INPUTS = ("a", "b", "c")
_WAIT_S = 300.0


def rows_of(name: str, generation: int) -> list[int]:
    """The jobs of an input: few, and not equally many in each generation."""
    first = 1_000_000 * (1 + INPUTS.index(name)) + 10 * generation
    return list(range(first, first + 1 + generation % 3))


def rejects_of(name: str, generation: int) -> int:
    """How many of its lines cannot be read."""
    return 1 + generation % 2 if name == "b" else 0


def change(small: Small, name: str, generation: int) -> None:
    """Put the next generation of an input in its place, by one rename."""
    small.inputs.mkdir(exist_ok=True)
    text = dump(*rows_of(name, generation), damaged=rejects_of(name, generation))
    following = small.folder / f"{name}.{os.getpid()}"
    following.write_text(text)
    following.replace(small.inputs / f"{name}.txt")


def require_whole(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The generation of each input, given origins and jobs of a state; fails unless it is whole."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for origin, job in rows:
        found[Path(origin).stem].append(job)
    generations = {name: min(jobs) % 1_000_000 // 10 for name, jobs in found.items()}
    expected = {name: rows_of(name, generations.get(name, 0)) for name in INPUTS}
    assert {name: sorted(jobs) for name, jobs in found.items()} == expected
    return generations


# --- writers --------------------------------------------------------------------------------------


def _run(small: Small, draw: random.Random) -> None:
    change(small, draw.choice(INPUTS), draw.randrange(10_000))
    small.harvest(wait_s=_WAIT_S)


def _run_anew(small: Small, draw: random.Random) -> None:
    change(small, draw.choice(INPUTS), draw.randrange(10_000))
    small.harvest(force=True, wait_s=_WAIT_S)


def _go_back(small: Small, draw: random.Random) -> None:
    kept = small.manifest().kept
    if kept:
        try:
            roll_back(small.open().sink, draw.choice(kept), wait_s=_WAIT_S)
        except DatasetError as error:
            # others may have been faster, so that it is kept no more
            if "was not kept" not in str(error):
                raise


def _repair(small: Small, draw: random.Random) -> None:
    done = repair(small.location, wait_s=_WAIT_S)
    assert (done.found, done.result) == ([], None), done.found


def _replay(small: Small, draw: random.Random) -> None:
    replay(small.open(), settings={"slurm": {"timezone": "UTC"}}, wait_s=_WAIT_S)


def _keep(small: Small, draw: random.Random) -> None:
    keep_runs(small.open().sink, draw.randrange(2, 9), wait_s=_WAIT_S)


WRITERS: dict[str, Callable[[Small, random.Random], None]] = {
    "run": _run,
    "forced run": _run_anew,
    "rollback": _go_back,
    "repair": _repair,
    "replay": _replay,
    "keep-runs": _keep,
}
_WEIGHTS = (6, 3, 3, 1, 1, 1)


# --- readers --------------------------------------------------------------------------------------


_State: TypeAlias = "tuple[list[tuple[str, int]], int]"
"""The rows of a dataset, and how many rejects it has."""


def _state(opened: Dataset) -> _State | None:
    """What a dataset that was opened holds; None where it has changed and says so."""
    try:
        lazy = opened["slurm.job"].select("origin", "job_id")
        rows = opened.sql("select origin, job_id from slurm.job").rows()
        rejects = len(list(opened.rejects()))
    except harvest.DatasetChanged:
        assert not opened.is_current()
        return None
    try:
        collected = lazy.collect().rows()
    except Exception:
        # a frame that was made before a commit may fail after it, as polars does
        if opened.is_current():
            raise
    else:
        assert sorted(collected) == sorted(rows)
    return [(origin, int(job)) for origin, job in rows], rejects


class Python:
    """Opens the dataset and reads it; and reads again what it opened before, which may be gone."""

    def __init__(self, small: Small):
        self.small = small
        self.changed = 0
        self.before, self.seen = self._open()

    def _open(self) -> tuple[Dataset, _State]:
        """What is opened may be gone before it is read, if others are fast."""
        while (seen := _state(opened := self.small.open())) is None:
            self.changed += 1
        return opened, seen

    def __call__(self) -> None:
        again = _state(self.before)
        self.changed += again is None
        assert again in (None, self.seen)
        self.before, self.seen = self._open()
        rows, rejects = self.seen
        generations = require_whole(rows)
        assert rejects == rejects_of("b", generations["b"])
        assert len(rows) == self.before.record_types["slurm.job"]


class Commands:
    """Asks by the command line: one question after the other."""

    def __init__(self, small: Small):
        self.place = str(small.location)
        self.turn = 0

    def __call__(self) -> None:
        self.turn += 1
        (self._query, self._view, self._rejects)[self.turn % 3]()

    def _query(self) -> None:
        found = _ask("query", self.place, "select origin, job_id from slurm.job", "--json")
        require_whole((row["origin"], int(row["job_id"])) for row in found)

    def _view(self) -> None:
        found = _ask("view", "events", self.place, "--json")
        assert {Path(row["origin"]).stem for row in found} == set(INPUTS)

    def _rejects(self) -> None:
        assert len(_ask("rejects", self.place, "--json")) in (1, 2)


def _ask(*words: str) -> list[Any]:
    done = harvest_here(*words)
    said = done.stderr.splitlines()
    assert done.returncode == 0, (words, done)
    assert all("could not be read" in line for line in said), (words, done)
    text = done.stdout
    found = json.loads(text) if text.startswith("[") else list(map(json.loads, text.splitlines()))
    return list(found)


class Verify:
    """Looks whether all is well."""

    def __init__(self, small: Small):
        self.place = str(small.location)

    def __call__(self) -> None:
        done = harvest_here("verify", self.place)
        assert done.returncode == 0, done
        assert done.stdout.splitlines()[-1].startswith("no problems: "), done


READERS: dict[str, Callable[[Small], Callable[[], None]]] = {
    "python": Python,
    "commands": Commands,
    "verify": Verify,
}


# --- the process ----------------------------------------------------------------------------------


def _write(small: Small, draw: random.Random) -> None:
    for line in sys.stdin:
        done: Counter[str] = Counter()
        for _ in range(int(line)):
            (what,) = draw.choices(list(WRITERS), _WEIGHTS)
            WRITERS[what](small, draw)
            done[what] += 1
        print(json.dumps(done), flush=True)


def _read(small: Small, kinds: list[str]) -> None:
    readers = {kind: READERS[kind](small) for kind in kinds}
    done: Counter[str] = Counter()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for kind, reader in readers.items():
            reader()
            done[kind] += 1
    done["changed"] = sum(each.changed for each in readers.values() if isinstance(each, Python))
    print(json.dumps(done), flush=True)


def main() -> None:
    """Write or read as the command line says."""
    what, folder, form, seed = sys.argv[1:]
    small, draw = Small(Path(folder), form), random.Random(seed)
    if what == "writer":
        _write(small, draw)
    else:
        _read(small, what.split(","))


if __name__ == "__main__":
    main()
