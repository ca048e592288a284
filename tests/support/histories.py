"""Random histories of inputs and datasets; after each run a dataset equals a fresh harvest.

Inputs of two sources are added, appended to, rewritten, replaced by others of the same size and
time, swapped, cut, renamed, deleted, touched, made unreadable and linked to nowhere.  Between the
changes they are harvested, by force or not, runs are killed, datasets rolled back, damaged and
repaired, and rejects read again.  A number makes a history: the same one, the same steps.

    python tests/support/histories.py 1000 [FIRST]

tries so many from a first number on, and prints a line for each.
"""

import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import crash

import harvest
from harvest import fault
from harvest.dataset.repair import repair, replay
from harvest.errors import HarvestError
from harvest.pipeline.rollback import roll_back
from harvest.storage import fingerprint

STEPS = 12
LEFT = (
    "it is a copy, from which the manifest is restored",
    "left by an interrupted run",
    "the last commit is not finished, its rows are in",
)
"""What a kill leaves to be put in order by the next run."""
SETTINGS = {"slurm": {"timezone": "UTC"}}
SINKS = ("parquet:P", "jsonl:J", "jsonl:F.jsonl")
HEADERS = {
    "slurm": "JobID|JobName|User|State|ExitCode|Elapsed|Start\n",
    "mofka-dask": ",key,start,finish,called_from,time\n",
}
LINES = {
    "slurm": "{n}|job {n}|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:00\n",
    "mofka-dask": "{n},task-{n},released,waiting,tcp://h:1,{n}.5\n",
}
DAMAGED = {"slurm": "odd|{n}|ann|COMPLETED|0:0|00:00:05|x\n", "mofka-dask": "{n},damaged\n"}


class Mismatch(AssertionError):
    """A dataset does not hold what it should."""


class Forks:
    """Children that do a piece of work and may be killed in it.

    They are forked by a process that was forked itself before anything started a thread.
    """

    def __init__(self) -> None:
        asking, self._ask = os.pipe()
        self._answer, answering = os.pipe()
        self._work: dict[str, Callable[..., None]] = {"run": _run, "roll_back": _roll_back}
        self.process = os.fork()
        if self.process == 0:
            os.close(self._ask)
            os.close(self._answer)
            self._serve(asking, answering)
            os._exit(0)
        os.close(asking)
        os.close(answering)
        self._answers = os.fdopen(self._answer, "r")

    def _serve(self, asking: int, answering: int) -> None:
        with os.fdopen(asking, "r") as questions:
            for line in questions:
                child = os.fork()
                if child == 0:
                    self._do(**json.loads(line))
                _, status = os.waitpid(child, 0)
                os.write(answering, f"{os.waitstatus_to_exitcode(status)}\n".encode())

    def _do(self, what: str, how: dict[str, Any], at: str | None, after_s: float) -> None:
        status = 1
        with contextlib.suppress(HarvestError):
            if at is not None:
                fault._fault = fault._Fault(at)
            else:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends it as SIGKILL does
                signal.setitimer(signal.ITIMER_REAL, after_s)
            self._work[what](**how)
            status = 0
        os._exit(status)

    def killed(self, what: str, how: dict[str, Any], at: str | None, after_s: float) -> bool:
        """Have it done in a child; whether the child was killed."""
        words = json.dumps({"what": what, "how": how, "at": at, "after_s": after_s})
        os.write(self._ask, f"{words}\n".encode())
        return int(self._answers.readline()) < 0

    def close(self) -> None:
        os.close(self._ask)
        self._answers.close()
        os.waitpid(self.process, 0)


def _run(folder: str, out: str, settled_ns: int, sinks: Any = SINKS, **options: Any) -> Any:
    fingerprint.SETTLED_NS = settled_ns
    return harvest.run(
        [f"{source}:{folder}/{source}" for source in HEADERS],
        [f"{name}:{folder}/{out}-{path}" for name, _, path in
         (sink.partition(":") for sink in sinks)],
        settings=SETTINGS, workers=1, **options,
    )  # fmt: skip


def _roll_back(folder: str, out: str, settled_ns: int) -> None:
    for dataset in _datasets(folder, out):
        if dataset.manifest.kept:
            roll_back(dataset.sink, dataset.manifest.kept[-1])


def _datasets(folder: str, out: str) -> list[Any]:
    return [harvest.open(f"{folder}/{out}-{sink.partition(':')[2]}") for sink in SINKS]


def held(dataset: Any) -> dict[str, Any]:
    """What a dataset holds of each input: rows and rejects, in order."""
    found: dict[str, Any] = {part.origin: [] for part in dataset.manifest}
    for name in dataset:
        for row in dataset[name].collect().to_dicts():
            found[row["origin"]].append((name, row))
    for reject in dataset.rejects():
        found[reject["origin"]].append(("reject", reject))
    return {origin: sorted(rows, key=str) for origin, rows in found.items()}


class History:
    """One history, in a folder of its own."""

    def __init__(self, number: int, forks: Forks):
        self.random = random.Random(number)
        self.forks = forks
        self.steps: list[str] = []
        self.counts: Counter[str] = Counter()
        self.fresh = 0
        self.policy = self.random.choice(["keep", "drop"])
        # whether times of inputs are relied on, though these have just been written
        self.settled_ns = self.random.choice([0, fingerprint.SETTLED_NS])

    def go(self) -> None:
        """All steps.  Raises Mismatch, with the steps so far."""
        with tempfile.TemporaryDirectory(prefix="history-") as folder:
            self.folder = folder
            self.expected: list[dict[str, Any]] = [{} for _ in SINKS]
            self.seen: list[list[dict[str, Any]]] = [[] for _ in SINKS]
            before = fingerprint.SETTLED_NS
            try:
                for source in HEADERS:
                    Path(folder, source).mkdir()
                    self._put(self._path(source, "a"), self._text(source, [(1, False)]))
                self.run()
                for _ in range(STEPS):
                    self._step()
                self.run()
            except Exception as error:
                raise Mismatch(f"{type(error).__name__}: {error} after {self.steps}") from error
            finally:
                fingerprint.SETTLED_NS = before

    def _step(self) -> None:
        names = [name for name in vars(History) if not name.startswith("_") and name != "go"]
        weights = [WEIGHTS.get(name, 1) for name in names]
        (name,) = self.random.choices(names, weights)
        self.steps.append(name)
        self.counts[name] += 1
        getattr(self, name)()
        if name in DATASETS:
            for dataset in _datasets(self.folder, "D"):
                problems = dataset.verify()
                # without a state to go back to, a rollback does nothing
                if name not in ORDERLY or (name == "roll_back" and not dataset.manifest.kept):
                    problems = [said for said in problems if not any(left in said for left in LEFT)]
                _equal(problems, [], "verify()")

    # --- inputs -----------------------------------------------------------------------------------

    def _path(self, source: str, stem: str) -> Path:
        return Path(self.folder, source, f"{stem}.csv")

    def _any(self) -> tuple[str, Path]:
        """A source and a path for an input of it, which may be there."""
        source = self.random.choice(list(HEADERS))
        path = self._path(source, self.random.choice("abcd"))
        self.steps[-1] += f" {source}/{path.stem}"
        return source, path

    def _file(self) -> tuple[str, Path | None]:
        """A source and an input of it that can be read, if there is one."""
        source, path = self._any()
        return source, path if path.is_file() else None

    def _text(self, source: str, content: list[tuple[int, bool]]) -> str:
        lines = ((DAMAGED if bad else LINES)[source].format(n=n) for n, bad in content)
        return HEADERS[source] + "".join(lines)

    def _content(self) -> list[tuple[int, bool]]:
        count = self.random.randrange(5)
        return [(self.random.randint(1, 9), self.random.random() < 0.3) for _ in range(count)]

    def _put(self, path: Path, text: str) -> None:
        if path.is_symlink():
            path.unlink()
        path.write_text(text)

    def write(self) -> None:
        source, path = self._any()
        self._put(path, self._text(source, self._content()))

    def append(self) -> None:
        source, path = self._file()
        if path is not None:
            with path.open("a") as file:
                file.write(self._text(source, self._content()).removeprefix(HEADERS[source]))

    def replace_by_another_of_the_same_size_and_time(self) -> None:
        source, path = self._file()
        if path is None:
            return
        status, text = path.stat(), path.read_text()
        head = HEADERS[source]
        changed = text.removeprefix(head).translate(str.maketrans("123456789", "234567891"))
        time.sleep(0.01)  # more than the clock of the file system's times moves on at once
        target = path.with_suffix(".new") if self.random.random() < 0.5 else path
        target.write_text((head if text.startswith(head) else "") + changed)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        target.replace(path)

    def swap(self) -> None:
        source, path = self._file()
        other = self._path(source, self.random.choice("abcd"))
        if path is not None and other.is_file() and other != path:
            aside = path.with_suffix(".aside")
            path.rename(aside)
            other.rename(path)
            aside.rename(other)

    def cut(self) -> None:
        _, path = self._file()
        if path is not None:
            os.truncate(path, self.random.randint(0, path.stat().st_size))

    def delete(self) -> None:
        _, path = self._any()
        if os.path.lexists(path) and len(list(path.parent.iterdir())) > 1:
            path.unlink()

    def rename(self) -> None:
        source, path = self._any()
        if os.path.lexists(path):
            path.rename(self._path(source, self.random.choice("abcd")))

    def touch(self) -> None:
        _, path = self._file()
        if path is not None:
            path.touch()

    def make_unreadable(self) -> None:
        """As a link to itself: permissions do not bind who may do anything."""
        self._link("itself")

    def link_to_nowhere(self) -> None:
        self._link("nowhere")

    def _link(self, where: str) -> None:
        _, path = self._any()
        if os.path.lexists(path):
            path.unlink()
        path.symlink_to(path.name if where == "itself" else where)

    # --- datasets ---------------------------------------------------------------------------------

    def _harvest(self, out: str, **options: Any) -> Any:
        """What a run gives; None where it refused since nothing could be read."""
        try:
            return _run(self.folder, out, self.settled_ns, **options)
        except harvest.SourceError:
            return None

    def _fresh(self) -> dict[str, Any] | None:
        """What a harvest of today's inputs holds; None where nothing of them can be read."""
        self.fresh += 1
        out = f"fresh{self.fresh}"
        if self._harvest(out, sinks=SINKS[-1:]) is None:
            return None
        return held(harvest.open(f"{self.folder}/{out}-F.jsonl"))

    def _after(self, fresh: dict[str, Any] | None) -> list[dict[str, Any]]:
        """What the datasets hold after a run."""
        if fresh is None:
            return self.expected
        return [{**(one if self.policy == "keep" else {}), **fresh} for one in self.expected]

    def _check(self, *allowed: list[dict[str, Any]]) -> None:
        """Each dataset holds one of what is allowed; that is what it holds from here on."""
        self.counts["comparisons"] += len(SINKS)
        for number, dataset in enumerate(_datasets(self.folder, "D")):
            found = held(dataset)
            states = [states[number] for states in allowed]
            if found not in states:
                _equal(found, states[-1], SINKS[number])
            self.expected[number] = found
            self.seen[number].append(found)

    def run(self, force: bool = False) -> None:
        done = self._harvest("D", deleted=self.policy, force=force)
        fresh = self._fresh()
        _equal(done is None, fresh is None, "refused")
        self._check(self._after(fresh))
        if fresh is not None and self.expected[-1] == fresh:  # then the files are equal, too
            mine, other = (Path(self.folder, f"{out}-F.jsonl").read_bytes()
                           for out in ("D", f"fresh{self.fresh}"))  # fmt: skip
            _equal(mine, other, "F.jsonl")

    def run_by_force(self) -> None:
        self.run(force=True)

    def run_again(self) -> None:
        """Nothing is committed where nothing has changed."""
        self.run()
        retried = any(part.failed or part.changed for dataset in _datasets(self.folder, "D")
                      for part in dataset.manifest)  # fmt: skip
        done = self._harvest("D", deleted=self.policy)
        if not retried:
            _equal(done and done.run, None, "a run without a change")

    def run_that_is_killed(self) -> None:
        self._kill("run", deleted=self.policy, force=self.random.random() < 0.3)
        self._check(self.expected, self._after(self._fresh()))

    def roll_back(self) -> None:
        _roll_back(self.folder, "D", self.settled_ns)
        self._check_seen()

    def roll_back_that_is_killed(self) -> None:
        self._kill("roll_back")
        self._check_seen()

    def _check_seen(self) -> None:
        for number, dataset in enumerate(_datasets(self.folder, "D")):
            self.counts["comparisons"] += 1
            found = held(dataset)
            if found not in self.seen[number]:
                _equal(found, self.expected[number], f"a state before, {SINKS[number]}")
            self.expected[number] = found

    def _kill(self, what: str, **options: Any) -> None:
        how = {"folder": self.folder, "out": "D", "settled_ns": self.settled_ns, **options}
        at = None
        if self.random.random() < 0.7:
            points = crash.fault_points()
            at = f"{self.random.choice(points)}:{self.random.randint(1, 3)}:die"
        after_s = self.random.uniform(0.005, 0.3)
        self.steps[-1] += f" at {at or f'{after_s:.3f} s'}"
        self.counts["killed"] += self.forks.killed(what, how, at, after_s)

    def replay(self) -> None:
        """What had rejects is as today's inputs have it; all else stays."""
        fresh = self._fresh()
        for dataset in _datasets(self.folder, "D"):
            with contextlib.suppress(harvest.SourceError):
                replay(dataset, settings=SETTINGS)
        self._check_each(fresh, lambda rows: any(name == "reject" for name, _ in rows))

    def damage_and_repair(self) -> None:
        """What was damaged is as today's inputs have it; all else stays."""
        number = self.random.randrange(len(SINKS))
        dataset = _datasets(self.folder, "D")[number]
        fresh = self._fresh()
        if fresh is None or not self.expected[number].keys() <= fresh.keys():
            return  # what cannot be read again cannot be repaired
        if any(rows and {name for name, _ in rows} == {"reject"} for rows in fresh.values()):
            return  # if all that is damaged is of such an input, the repair is refused
        files = sorted({f.path for part in dataset.manifest for f in part.files})
        if not files:
            return
        location = Path(self.folder, f"D-{SINKS[number].partition(':')[2]}")
        path = location / self.random.choice(files) if location.is_dir() else location
        if self.random.random() < 0.3:
            path.unlink()
        else:
            os.truncate(path, self.random.randrange(path.stat().st_size))
        done = repair(location, settings=SETTINGS, give_up=True)
        _equal(done.left, [], "left by a repair")
        self.counts["repaired"] += 1
        self._check_each(fresh, lambda _: True)

    def _check_each(
        self, fresh: dict[str, Any] | None, may_change: Callable[[list[Any]], bool]
    ) -> None:
        """Each input's rows are as they were, or as they are today where they may be."""
        for number, dataset in enumerate(_datasets(self.folder, "D")):
            self.counts["comparisons"] += 1
            found, before = held(dataset), self.expected[number]
            for origin in found.keys() | before.keys():
                rows, was = found.get(origin), before.get(origin)
                today = (fresh or {}).get(origin)
                if rows != was and not (may_change(was or []) and rows == today):
                    _equal(rows, was, f"{SINKS[number]}, {origin}, today {today}")
            self.expected[number] = found
            self.seen[number].append(found)


ORDERLY = frozenset(("run", "run_by_force", "run_again", "roll_back", "replay"))
"""Steps that put in order what a kill left in any of the datasets."""

DATASETS = ORDERLY | {"run_that_is_killed", "roll_back_that_is_killed", "damage_and_repair"}
"""Steps that write to the datasets."""

WEIGHTS = {"write": 3, "append": 2, "run": 4, "run_that_is_killed": 3}


def _equal(found: Any, expected: Any, what: str) -> None:
    if found != expected:
        raise Mismatch(f"{what}: {found!r} and not {expected!r}")


def tried(numbers: range) -> Iterator[tuple[int, History, str, float]]:
    """Each history with what was wrong with it, if anything, and the seconds that it took."""
    forks = Forks()
    try:
        for number in numbers:
            history = History(number, forks)
            begun = time.perf_counter()
            wrong = ""
            try:
                history.go()
            except Mismatch as error:
                wrong = str(error)
            yield number, history, wrong, time.perf_counter() - begun
    finally:
        forks.close()


def main(count: int, first: int = 0) -> int:
    """Try so many, and print a line for each and one for all."""
    counts: Counter[str] = Counter()
    failed = []
    for number, history, wrong, took_s in tried(range(first, first + count)):
        counts += history.counts
        killed = history.counts["killed"]
        print(f"seed {number}: {'WRONG ' + wrong if wrong else 'equal'}, "
              f"{history.counts['comparisons']} comparisons, {killed} killed, {took_s:.2f} s",
              flush=True)  # fmt: skip
        if wrong:
            failed.append(number)
    print(f"{count} histories, {count - len(failed)} equal; wrong: {failed or 'none'}")
    print(", ".join(f"{name} {number:,}" for name, number in sorted(counts.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
