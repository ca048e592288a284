"""The promises of engines: each run is tried in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import harvest
from harvest_testing.promise import Conformance, broken, does_not_apply, promise, require

from .trial import Harvest, Trial, contents, tried

SMALL = 200
"""Files of few lines, which are read together."""

LARGE = (64 << 20) + 1
"""Bytes of a file that an engine gives out alone, if it gives anything out alone."""

LOSSES, APART = 5, 6
"""Workers that are lost one after the other, and files from one of them to the next."""

ATTEMPTS = 40
"""How often a partition whose workers die may be tried."""

KEPT = "let run() raise what Bundle.read raises, and give each of its results"
PREPARED = "call prepare() of each bundle in run(), in the order of work.bundles, once"
LOST = (
    "notice that a worker has ended; give what it had in hand out again, or raise HarvestError: "
    "the next run takes what is staged"
)


class EngineConformance(Conformance):
    """What every engine promises, as tests that an author's class inherits.

    engine: the class under test, importable by its module's name, here and in workers.
    settings: key -> value of its settings, for all tests.
    workers: how many it gets.
    reports_while_reading: whether progress comes while a file is read; False for jobs, of which
        only what they have staged is seen.
    limit_s: seconds that a run may take.
    """

    engine: ClassVar[type[harvest.Engine]]
    workers: ClassVar[int] = 2
    reports_while_reading: ClassVar[bool] = True
    limit_s: ClassVar[float] = 600

    def run(self, inputs: Path, out: Path, **how: Any) -> Trial:
        """Harvest by the engine under test; how: as in ``Harvest``."""
        (trial,) = self.run_all(inputs.parent, self.of(inputs, out, **how))
        return trial

    def of(self, inputs: Path, out: Path, **how: Any) -> Harvest:
        """What is to be harvested, with the workers of the class."""
        return Harvest(inputs=inputs, out=out, **{"workers": self.workers, **how})

    def run_all(self, folder: Path, *harvests: Harvest) -> list[Trial]:
        """Harvest one after the other in one process, which is left as it was."""
        if getattr(self, "engine", None) is None:
            broken(f"{type(self).__name__} has no engine", "set engine = YourEngine in the class")
        (folder / "journal").unlink(missing_ok=True)
        how = {"settings": self.settings, "scratch": folder / "mine", "limit_s": self.limit_s}
        trials = tried(self.engine, *harvests, **how)  # type: ignore[arg-type]
        for trial in trials:
            require(trial.status is not None, trial.words, LOST)
            require(
                not trial.said,
                f"the run prints {trial.said[:80]!r} to standard output",
                "print nothing there: it is the user's program's",
            )
            require(
                not trial.changed,
                f"a run changes {', '.join(trial.changed)} of the user's program",
                "give workers an environment of their own, and put back what you change",
            )
        return trials

    def require_local(self, inputs: Path, out: Path) -> None:
        """The dataset is the one of the engine ``local``, and nothing is left beside it."""
        there = inputs.parent / "local"
        if not there.exists():
            local = _by_local(inputs, there)
            require(local.committed, local.words, "this is a defect of the kit: report it")
        for (what, found), expected in zip(
            contents(out).items(), contents(there).values(), strict=True
        ):
            about = f"the {what} of the dataset are not those of the engine local"
            require(found == expected, about, KEPT)

    @promise("the dataset is to the byte the one of the engine local, whatever files are called")
    def test_the_dataset_is_that_of_the_engine_local(self, tmp_path: Path) -> None:
        texts = {f"s{n:03}": f"one\nbad\nnumber {n}\n" for n in range(SMALL)}
        odd = dict.fromkeys(("a b", "it's", "$HOME", "n\nl", "-x", os.fsdecode(b"\xe9")), "odd\n")
        large = {f"large{n}": f"last {n}\n" for n in range(4)}
        inputs = _inputs(tmp_path, {**texts, **odd}, large)
        for workers in {1: None, self.workers: None, None: None}:
            out = tmp_path / f"by-{workers}" / "out"
            trial = self.run(inputs, out, workers=workers)
            require(trial.committed, trial.words, KEPT)
            self.require_local(inputs, out)

    def _require_prepared(self, inputs: Path) -> None:
        """All was prepared by the process of the run, once and in the order of the plan."""
        run = (inputs.parent / "mine" / "run.pid").read_text()
        made = [each for each in _journal(inputs.parent) if each[0] == "prepared"]
        others = [name for _, process, name in made if process != run]
        require(not others, f"{others[:1]} was prepared by another process", PREPARED)
        names = [name for *_, name in made]
        about = f"prepared in the order {names[:6]}, which is not that of the plan, or not once"
        require(names == sorted(set(names)), about, PREPARED)

    @promise("a worker that is lost costs no row, however many are lost now and then")
    def test_a_lost_worker_costs_no_row(self, tmp_path: Path) -> None:
        texts = {f"s{n:02}": f"number {n}\n" for n in range(LOSSES * APART)}
        for number in range(0, LOSSES * APART, APART):
            texts[f"s{number:02}"] = f"die {tmp_path / f'killed-{number}'} 1\n"
        inputs = _inputs(tmp_path, {}, texts)
        for _ in range(LOSSES + 1):
            trial = self.run(inputs, tmp_path / "out")
            self._require_lost(tmp_path)
            self._require_prepared(inputs)
            if trial.error is None:
                break
            # the next run may go on; one that replaces workers does so to the end
            require(trial.error[0] != "PluginError", trial.words, LOST)
            about = f"{LOSSES} workers were lost, with results in between, and {trial.words}"
            done = len(_named(tmp_path, "died"))
            require(done == 1, about, "count losses since the last result: a long run has many")
        require(trial.committed, f"after lost workers {trial.words}", LOST)
        self.require_local(inputs, tmp_path / "out")

    @promise("a partition of which all workers die ends the run with words, and costs no other")
    def test_workers_are_not_replaced_without_end(self, tmp_path: Path) -> None:
        texts = {f"s{n}": f"number {n}\n" for n in range(3)}
        inputs = _inputs(tmp_path, {}, {**texts, "s1": f"die {tmp_path / 'killed'} {ATTEMPTS}\n"})
        trial = self.run(inputs, tmp_path / "out")
        self._require_lost(tmp_path)
        require(
            len(_named(tmp_path, "died")) < ATTEMPTS,
            f"{ATTEMPTS} workers died of one file, and another was started each time",
            "count how often a bundle was given out, and raise HarvestError after some times",
        )
        require(trial.error is not None and trial.error[0] != "PluginError", trial.words, LOST)
        (tmp_path / "killed").write_text("." * ATTEMPTS)
        again = self.run(inputs, tmp_path / "out")
        require(again.committed, f"when the file was mended, {again.words}", LOST)
        self.require_local(inputs, tmp_path / "out")

    def _require_lost(self, folder: Path) -> None:
        """Workers died, and not the run's own process."""
        died = {process for what, process, _ in _journal(folder) if what == "died"}
        if (folder / "mine" / "run.pid").read_text() in died:
            does_not_apply("it reads in the run's own process, so that no worker can be lost")

    def _require_not_all(self, inputs: Path, about: str, remedy: str) -> None:
        everything = {path.name for path in inputs.iterdir()}
        begun = set(_named(inputs.parent, "begun"))
        require(begun != everything, f"{about} all other files are read, too", remedy)

    @promise("progress is reported, and no more of it than there is")
    def test_progress_is_reported(self, tmp_path: Path) -> None:
        rows = "row\n" * 99
        held = "s0" if self.reports_while_reading or self.workers > 1 else "s9"
        texts = {f"s{n}": rows for n in range(6)}
        texts[held] = f"{rows}hold {tmp_path / 'mine' / 'progressed'} 30\n"
        alone = {held: texts[held]} if self.reports_while_reading else texts
        inputs = _inputs(tmp_path, {}, alone)
        most = sum(text.count("\n") for text in alone.values())
        size = sum(path.stat().st_size for path in inputs.iterdir())
        trial = self.run(inputs, tmp_path / "out")
        require(trial.committed, trial.words, KEPT)
        remedy = (
            "hand a function to Bundle.read, and what it is called with to work.on_progress, as it "
            "comes and before the result; or say `reports_while_reading = False`"
        )
        least = most if self.reports_while_reading else 1
        require(
            least <= trial.rows <= most and trial.size_bytes <= size,
            f"{trial.rows} rows and {trial.size_bytes} bytes are reported of {most} and {size}",
            remedy,
        )
        waited = _named(tmp_path, "waited")
        require(not waited, "while a file was read for 30 s, nothing of it was reported", remedy)

    @promise("what stops a bundle stops the run at once, by the error of the engine local")
    def test_what_stops_a_bundle_stops_the_run(self, tmp_path: Path) -> None:
        for line in ("bad\nbad", "break", "full"):
            folder = tmp_path / line[:3]
            folder.mkdir()
            texts = {f"s{n:02}": f"pause 0.2\nnumber {n}\n" for n in range(24)}
            inputs = _inputs(folder, {}, {**texts, "s01": f"{line}\n"})
            mine = self.run(inputs, folder / "out", more={"max_rejects": 1})
            expected = _by_local(inputs, folder / "local", more={"max_rejects": 1})
            require(mine.error is not None, f"after {line!r} {mine.words}", KEPT)
            about = f"the run ends with {mine.error}, by the engine local with {expected.error}"
            require(mine.error == expected.error, about, KEPT)
            self._require_not_all(inputs, f"after {line!r}", "raise an error when it comes")

    @promise("runs have nothing to do with each other, and a thread may run them")
    def test_runs_are_independent(self, tmp_path: Path) -> None:
        (stopped := tmp_path / "stopped").mkdir()
        bad = _inputs(stopped, {}, {f"s{n}": "bad\nbad\n" for n in range(6)})
        inputs = _inputs(tmp_path, {}, {f"s{n}": f"{n}\n" for n in range(6)})
        failing = self.of(bad, stopped / "out", more={"max_rejects": 1})
        wholes = {
            "after one that failed": self.of(inputs, tmp_path / "out"),
            "in a thread": self.of(inputs, tmp_path / "threaded", threaded=True),
        }
        first, *others = self.run_all(tmp_path, failing, *wholes.values())
        require(first.error is not None, first.words, KEPT)
        for (about, whole), trial in zip(wholes.items(), others, strict=True):
            words = f"in the same process {about}, {trial.words}"
            require(trial.committed, words, "keep what belongs to a run in variables of run()")
            self.require_local(inputs, whole.out)


def _by_local(inputs: Path, out: Path, **how: Any) -> Trial:
    """What the engine ``local`` makes of it."""
    (trial,) = tried(
        None,
        Harvest(inputs=inputs, out=out, workers=1, **how),
        settings={},
        scratch=inputs.parent / "reference",
        limit_s=EngineConformance.limit_s,
    )
    return trial


def _inputs(folder: Path, texts: Mapping[str, str], large: Mapping[str, str]) -> Path:
    """A directory of files; behind the text of a large one is a hole."""
    inputs = folder / "inputs"
    inputs.mkdir()
    for name, text in {**texts, **large}.items():
        (inputs / name).write_text(text)
    for name in large:
        os.truncate(inputs / name, LARGE)
    return inputs


def _journal(folder: Path) -> list[tuple[str, str, str]]:
    """What was done, with the process and the file's name."""
    path = folder / "journal"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(what, process, bytes.fromhex(name).decode("utf-8", "replace"))
            for what, process, name in map(str.split, lines)]  # fmt: skip


def _named(folder: Path, what: str) -> list[str]:
    """The files to which that was done."""
    return [name for done, _, name in _journal(folder) if done == what]
