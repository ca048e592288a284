"""The conformance kit for engines: what each of them does as the engine ``local`` does it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import harvest
from harvest_testing.promise import Conformance, broken, promise, require

from .trial import Trial, contents, tried

SMALL = 200
"""Files of few lines, which are read together."""

LONG_LINE = "x" * (1 << 20)
"""Makes a file too large to be read together with others."""

KEPT = "let run() raise what Bundle.read raises, and give each of its results"


class EngineConformance(Conformance):
    """What every engine promises, as tests that an author's class inherits.

        class TestMine(EngineConformance):
            engine = MyEngine

    engine: the class under test, importable by its module's name, here and in workers.
    settings: key -> value of its settings, for all tests.
    workers: how many it gets.
    stops_workers: whether it has what its workers do in its hands; False where they are somebody
        else's, and read on when the run is interrupted.
    limit_s: seconds that a run may take.
    """

    engine: ClassVar[type[harvest.Engine]]
    settings: ClassVar[Mapping[str, Any]] = {}
    workers: ClassVar[int] = 2
    stops_workers: ClassVar[bool] = True
    limit_s: ClassVar[float] = 600

    def run(self, inputs: Path, out: Path, **more: Any) -> Trial:
        """Harvest by the engine under test."""
        if getattr(self, "engine", None) is None:
            broken(f"{type(self).__name__} has no engine", "set engine = YourEngine in the class")
        return tried(
            self.engine,
            inputs,
            out,
            settings=self.settings,
            workers=more.pop("workers", self.workers),
            scratch=inputs.parent,
            limit_s=self.limit_s,
            **more,
        )

    def require_local(self, inputs: Path, out: Path) -> None:
        """The dataset is the one of the engine ``local``, and nothing is left beside it."""
        there = inputs.parent / "local"
        if not there.exists():
            local = tried(
                None,
                inputs,
                there,
                settings={},
                workers=1,
                scratch=inputs.parent,
                limit_s=self.limit_s,
            )
            require(local.committed, local.words, "this is a defect of the kit: report it")
        mine, expected = contents(out), contents(there)
        for what, found in mine.items():
            require(
                found == expected[what],
                f"the {what} of the dataset are not those of the engine local",
                KEPT,
            )
        left = [path.name for path in (out / "_harvest" / "staging").iterdir()]
        require(not left, f"in staging lies {', '.join(left)}", "leave nothing there")

    @promise("the dataset is to the byte the one of the engine local")
    def test_the_dataset_is_that_of_the_engine_local(self, tmp_path: Path) -> None:
        inputs = _inputs(tmp_path, {f"s{n:03}": f"one\nbad\nnumber {n}\n" for n in range(SMALL)})
        for number in range(4):
            (inputs / f"large{number}").write_text(f"{LONG_LINE}\nlast {number}\n")
        for workers in {1, self.workers}:
            out = tmp_path / f"by-{workers}" / "out"
            trial = self.run(inputs, out, workers=workers)
            require(trial.committed, trial.words, KEPT)
            self.require_local(inputs, out)

    @promise("a worker that is lost costs no row, and the run ends")
    def test_a_lost_worker_costs_no_row(self, tmp_path: Path) -> None:
        texts = {f"s{n}": f"{LONG_LINE}\nnumber {n}\n" for n in range(4)}
        inputs = _inputs(tmp_path, {**texts, "s5": f"{LONG_LINE}\ndie {tmp_path / 'mark'}\n"})
        first = self.run(inputs, tmp_path / "out")
        require(first.ended, "one worker was killed, and the run never ends", _LOST)
        if first.error is not None:
            require(first.error[0] != "PluginError", first.words, _LOST)
        if not first.committed:
            again = self.run(inputs, tmp_path / "out")
            require(again.committed, f"after a lost worker {again.words}", _LOST)
        self.require_local(inputs, tmp_path / "out")

    @promise("an interrupted run ends, with its workers, and the next one goes on")
    def test_an_interrupted_run_ends_and_the_next_goes_on(self, tmp_path: Path) -> None:
        texts = {f"s{n}": f"{LONG_LINE}\nnumber {n}\n" for n in range(4)}
        line = f"interrupt {tmp_path / 'run.pid'}"
        inputs = _inputs(tmp_path, {**texts, "s2": f"{LONG_LINE}\n{line}\n"})
        remedy = "call harvest.interrupt.check() while you wait, and stop workers in `finally`"
        first = self.run(inputs, tmp_path / "out")
        require(first.ended, "a run that got SIGINT never ends", remedy)
        require(first.status == 130, f"after SIGINT {first.words}", remedy)
        readers = [int(word) for word in (tmp_path / "run.pid.readers").read_text().split()]
        left = _left_of(readers) if self.stops_workers else []
        (tmp_path / "run.pid.go").touch()
        require(not left, f"process {left} still reads for a run that has ended", remedy)
        again = self.run(inputs, tmp_path / "out")
        require(again.committed, f"after an interruption {again.words}", remedy)
        self.require_local(inputs, tmp_path / "out")

    @promise("progress is reported, and no more of it than there is")
    def test_progress_is_reported(self, tmp_path: Path) -> None:
        inputs = _inputs(tmp_path, {f"s{n}": f"{LONG_LINE}\n" + "row\n" * 99 for n in range(6)})
        size = sum(path.stat().st_size for path in inputs.iterdir())
        trial = self.run(inputs, tmp_path / "out")
        require(trial.committed, trial.words, KEPT)
        remedy = "hand a function to Bundle.read, and what it is called with to work.on_progress"
        require(trial.rows > 0, "no row was reported", remedy)
        require(
            trial.rows <= 600 and trial.size_bytes <= size,
            f"{trial.rows} rows and {trial.size_bytes} bytes are reported of 600 and {size}",
            remedy,
        )

    @promise("what stops a bundle stops the run, with the same error as by the engine local")
    def test_what_stops_a_bundle_stops_the_run(self, tmp_path: Path) -> None:
        texts = {f"s{n}": f"{LONG_LINE}\nnumber {n}\n" for n in range(4)}
        inputs = _inputs(tmp_path, {**texts, "s1": f"{LONG_LINE}\nbad\nbad\n"})
        mine = self.run(inputs, tmp_path / "out", max_rejects=1)
        expected = ("TooManyRejects", f"{inputs / 's1'}: more than 1 rejects")
        require(mine.error is not None, mine.words, KEPT)
        kind, text = mine.error or ("", "")
        require(kind == expected[0] and text.startswith(expected[1]), mine.words, KEPT)
        require(
            not (tmp_path / "out" / "_harvest" / "manifest.json").exists(),
            "a run that was stopped has committed",
            KEPT,
        )


_LOST = (
    "notice that a worker has ended; give what it had in hand out again, or raise HarvestError: "
    "the next run takes what is staged"
)


def _inputs(folder: Path, texts: Mapping[str, str]) -> Path:
    inputs = folder / "inputs"
    inputs.mkdir()
    for name, text in texts.items():
        (inputs / name).write_text(text)
    return inputs


def _left_of(pids: list[int], within_s: float = 20) -> list[int]:
    """Those of the processes that do not end in time."""
    until = time.monotonic() + within_s
    while (left := [pid for pid in pids if _alive(pid)]) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:  # ended just now; or a system without /proc, which said it lives
        return not stat.parent.parent.is_dir()
