"""The conformance kit for engines: what each of them does as the engine ``local`` does it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import attrs

import harvest
from harvest_testing.kits import Conformance, broken, does_not_apply, promise, require

from .trial import Harvest, Trial, contents, tried

SMALL = 200
"""Files of few lines, which are read together."""

LARGE = (64 << 20) + 1
"""Bytes of a file that an engine gives out alone, if it gives anything out alone."""

CORES = 5
"""What a machine seems to have, of which a run may use one."""

LOSSES = 5
"""Workers that are lost one after the other, each when there were results since the one before."""

APART = 6
"""Files from one of which a worker dies to the next."""

ATTEMPTS = 40
"""How often a partition whose workers die may be tried."""

KEPT = "let run() raise what Bundle.read raises, and give each of its results"


class EngineConformance(Conformance):
    """What every engine promises, as tests that an author's class inherits.

        class TestMine(EngineConformance):
            engine = MyEngine

    engine: the class under test, importable by its module's name, here and in workers.
    settings: key -> value of its settings, for all tests.
    without_effect: setting -> why no run of these tests reads it.
    workers: how many it gets.
    stops_workers: whether it has what its workers do in its hands; False where they are somebody
        else's, and read on when the run is interrupted.
    reports_while_reading: whether progress comes while a file is read; False for jobs, of which
        only what they have staged is seen.
    limit_s: seconds that a run may take.
    """

    engine: ClassVar[type[harvest.Engine]]
    settings: ClassVar[Mapping[str, Any]] = {}
    without_effect: ClassVar[Mapping[str, str]] = {}
    workers: ClassVar[int] = 2
    stops_workers: ClassVar[bool] = True
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
        """Harvest one after the other in one process, which leaves nothing behind."""
        if getattr(self, "engine", None) is None:
            broken(f"{type(self).__name__} has no engine", "set engine = YourEngine in the class")
        (folder / "journal").unlink(missing_ok=True)
        trials = tried(
            self.engine,
            *harvests,
            settings=self.settings,
            scratch=folder / "mine",
            limit_s=self.limit_s,
        )
        left = [each for each in trials[-1].left if self.stops_workers or "process" not in each]
        require(
            not left,
            f"{trials[-1].words}, and left {left[:2]}",
            "stop workers and remove files in `finally`, however the run ends; let workers end "
            "when the run's process does: watch a pipe to it, or its sentinel",
        )
        forks = folder / "mine" / "forks"
        forked = set(forks.read_text().split()) if forks.exists() else set()
        readers = {process for what, process, _ in _journal(folder) if what == "begun"}
        require(
            not forked & readers,
            "workers are forks of the run's process, with locks that its threads may hold for ever",
            'begin workers anew, as by multiprocessing.get_context("spawn")',
        )
        for trial in trials:
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

    def require_local(self, inputs: Path, out: Path, *, failed: bool = False) -> None:
        """The dataset is the one of the engine ``local``, and nothing is left beside it.

        failed: whether a run had failed before, of which an engine may keep logs.
        """
        there = inputs.parent / "local"
        if not there.exists():
            local = _by_local(inputs, there)
            require(local.committed, local.words, "this is a defect of the kit: report it")
        mine, expected = contents(out), contents(there)
        if failed:
            del mine["state"]
        for what, found in mine.items():
            require(
                found == expected[what],
                f"the {what} of the dataset are not those of the engine local",
                KEPT,
            )
        left = [path.name for path in (out / "_harvest" / "staging").iterdir()]
        require(not left, f"in staging lies {', '.join(left)}", "leave nothing there")

    @promise("the dataset is to the byte the one of the engine local, whatever files are called")
    def test_the_dataset_is_that_of_the_engine_local(self, tmp_path: Path) -> None:
        texts = {f"s{n:03}": f"one\nbad\nnumber {n}\n" for n in range(SMALL)}
        odd = dict.fromkeys(("a b", "it's", "$HOME", "n\nl", "-x", os.fsdecode(b"\xe9")), "odd\n")
        large = {f"large{n}": f"print\nlast {n}\n" for n in range(4)}
        large["same"] = f"same {tmp_path / 'mine' / 'surroundings'}\n"
        inputs = _inputs(tmp_path, {**texts, **odd}, large)
        for workers in {1: None, self.workers: None, None: None}:
            out = tmp_path / f"by-{workers}" / "out"
            trial = self.run(inputs, out, workers=workers)
            require(trial.committed, trial.words, KEPT)
            require(
                "other" not in {what for what, *_ in _journal(tmp_path)},
                "a worker has another umask than the run, or not its environment variables",
                "let workers inherit both: files are as private as the user says, and sources "
                "find what the user has set",
            )
            self.require_local(inputs, out)

    @promise("bundles are prepared in order by the run itself, read once, and few at a time")
    def test_bundles_are_prepared_in_order_and_read_once(self, tmp_path: Path) -> None:
        inputs = _inputs(tmp_path, {}, {f"s{n}": f"pause 0.5\n{n}\n" for n in range(6)})
        trial = self.run(inputs, tmp_path / "out", workers=1)
        require(trial.committed, trial.words, KEPT)
        journal = _journal(tmp_path)
        prepared = len(self._prepared(inputs))
        require(prepared == 6, f"{prepared} bundles of 6 were prepared", _PREPARED)
        times = Counter(name for what, _, name in journal if what == "begun")
        require(
            set(times.values()) == {1},
            f"{times.most_common(1)[0][0]} is read {times.most_common(1)[0][1]} times",
            "give each bundle to one worker, and again only when that is lost",
        )
        at_once = most = 0
        for what, _, _ in journal:
            at_once += {"begun": 1, "ended": -1}.get(what, 0)
            most = max(most, at_once)
        require(
            most == 1,
            f"{most} files are read at a time with workers = 1",
            "let self.workers bound what is read at a time",
        )
        if self.reports_while_reading:
            trial = self.run(inputs, tmp_path / "of one core", workers=None, cores=CORES)
            require(trial.committed, trial.words, KEPT)
            require(
                trial.children < CORES,
                f"{trial.children} processes are begun, where the machine has {CORES} cores and "
                "the run may use one of them",
                "take as many workers as harvest.engines.available_cores() says",
            )

    def _prepared(self, inputs: Path) -> list[str]:
        """What was prepared, by the process of the run and in the order of the plan."""
        run = (inputs.parent / "mine" / "run.pid").read_text()
        made = [(process, name) for what, process, name in _journal(inputs.parent)
                if what == "prepared"]  # fmt: skip
        names = [name for _, name in made]
        others = [name for process, name in made if process != run]
        require(not others, f"{others[:1]} was prepared by another process", _PREPARED)
        require(
            names == sorted(set(names)),
            f"prepared in the order {names[:6]}, which is not that of the plan, or not once",
            _PREPARED,
        )
        return names

    @promise("results come as they are done: none waits for another")
    def test_results_come_as_they_are_done(self, tmp_path: Path) -> None:
        held = "s0" if self.workers > 1 else "s9"
        texts = {f"s{n}": f"number {n}\n" for n in range(10)}
        texts[held] = f"hold {tmp_path / 'mine' / 'finished'} 60\n"
        inputs = _inputs(tmp_path, {}, texts)
        trial = self.run(inputs, tmp_path / "out")
        require(trial.committed, trial.words, KEPT)
        require(
            "waited" not in {what for what, *_ in _journal(tmp_path)},
            f"while one worker was busy with {held} for 60 s, no result of another came",
            "keep all workers busy, and give each result when it is done",
        )

    @promise("a worker that is lost costs no row, and the run ends")
    def test_a_lost_worker_costs_no_row(self, tmp_path: Path) -> None:
        texts = {f"s{n}": f"number {n}\n" for n in range(9)}
        texts["s2"] = f"pause 0.5\ndie {tmp_path / 'killed'} 1\n"
        texts["s5"] = f"leave {tmp_path / 'left'} 1\n"
        inputs = _inputs(tmp_path, {}, texts)
        first: Trial | None = None
        for _ in range(3):
            trial = self.run(inputs, tmp_path / "out", dying=tmp_path / "killed.readers")
            require(trial.ended, "one worker was lost, and the run never ends", _LOST)
            _lost(tmp_path)
            self._prepared(inputs)
            if trial.error is None:
                break
            require(trial.error[0] != "PluginError", trial.words, _LOST)
            first = trial
        require(trial.committed, f"after a lost worker {trial.words}", _LOST)
        self.require_local(inputs, tmp_path / "out", failed=True)
        if first is None and self.reports_while_reading:
            self._lose_now_and_then(tmp_path / "now-and-then")

    def _lose_now_and_then(self, folder: Path) -> None:
        """An engine that replaces a lost worker does so as often as results came in between."""
        folder.mkdir()
        texts = {f"s{n:02}": f"number {n}\n" for n in range(LOSSES * APART)}
        for number in range(0, LOSSES * APART, APART):
            texts[f"s{number:02}"] = f"die {folder / f'killed-{number}'} 1\n"
        trial = self.run(_inputs(folder, {}, texts), folder / "out")
        require(
            trial.committed,
            f"one lost worker is replaced; where {LOSSES} are lost, with results of others in "
            f"between, {trial.words}",
            "count losses of a bundle, or since the last result: a long run may lose many workers",
        )

    @promise("a partition of which all workers die ends the run with words, and costs no other")
    def test_workers_are_not_replaced_without_end(self, tmp_path: Path) -> None:
        inputs, trial = self._poisoned(tmp_path)
        require(trial.ended, "the run never ends", _LOST)
        attempts = len(_lost(tmp_path))
        require(
            attempts < ATTEMPTS,
            f"{attempts} workers died of one file, and another was started each time",
            "count how often a bundle was given out, and raise HarvestError after some times",
        )
        require(trial.error is not None and trial.error[0] != "PluginError", trial.words, _LOST)
        (tmp_path / "killed.go").touch()
        again = self.run(inputs, tmp_path / "out")
        require(again.committed, f"when the file was mended, {again.words}", _LOST)
        self.require_local(inputs, tmp_path / "out", failed=True)

    @promise("each setting is read by a run")
    def test_settings_are_read(self, tmp_path: Path) -> None:
        names = {each.name for each in attrs.fields(self.engine.Config)} - set(self.without_effect)
        if not names:
            does_not_apply("it has no settings")
        _, trial = self._poisoned(tmp_path)
        unread = sorted(names - trial.used)
        require(
            not unread,
            f"a run whose workers die reads no {', '.join(unread)}",
            "let the setting do what it says, or say in `without_effect` of the test class why no "
            "such run reads it",
        )

    def _poisoned(self, tmp_path: Path) -> tuple[Path, Trial]:
        """A run over a file of which many workers die."""
        texts = {f"s{n}": f"number {n}\n" for n in range(3)}
        inputs = _inputs(tmp_path, {}, {**texts, "s1": f"die {tmp_path / 'killed'} {ATTEMPTS}\n"})
        return inputs, self.run(inputs, tmp_path / "out")

    @promise("an interrupted run ends, with its workers, and the next one goes on")
    def test_an_interrupted_run_ends_and_the_next_goes_on(self, tmp_path: Path) -> None:
        line = f"interrupt {tmp_path / 'mine' / 'run.pid'}"
        texts = {f"s{n:02}": f"pause 0.1\nnumber {n}\n" for n in range(20)}
        inputs = _inputs(tmp_path, {}, {**texts, "s02": f"{line}\n"})
        remedy = "call harvest.interrupt.check() while you wait, and stop workers in `finally`"
        first = self.run(inputs, tmp_path / "out")
        require(first.ended, "a run that got SIGINT never ends", remedy)
        require(first.status == 130, f"after SIGINT {first.words}", remedy)
        if self.stops_workers:
            self._require_not_all(inputs, "after SIGINT", remedy)
        (tmp_path / "mine" / "run.pid.go").touch()
        again = self.run(inputs, tmp_path / "out")
        require(again.committed, f"after an interruption {again.words}", remedy)
        self.require_local(inputs, tmp_path / "out", failed=True)

    def _require_not_all(self, inputs: Path, about: str, remedy: str) -> None:
        begun = {name for what, _, name in _journal(inputs.parent) if what == "begun"}
        everything = {path.name for path in inputs.iterdir()}
        require(begun != everything, f"{about} all other files are read, too", remedy)

    @promise("of a run that was killed no worker lives on, and the next one goes on")
    def test_a_killed_run_leaves_no_worker(self, tmp_path: Path) -> None:
        line = f"kill {tmp_path / 'mine' / 'run.pid'}"
        inputs = _inputs(tmp_path, {}, {**{f"s{n}": f"{n}\n" for n in range(4)}, "s2": line})
        self.run(inputs, tmp_path / "out")  # which looks for what is left
        (tmp_path / "mine" / "run.pid.go").touch()
        again = self.run(inputs, tmp_path / "out")
        require(again.committed, f"after a kill {again.words}", _LOST)
        self.require_local(inputs, tmp_path / "out", failed=True)

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
        remedy = "hand a function to Bundle.read, and what it is called with to work.on_progress"
        require(trial.rows > 0, "no row was reported", remedy)
        require(
            trial.rows <= most and trial.size_bytes <= size,
            f"{trial.rows} rows and {trial.size_bytes} bytes are reported of {most} and {size}",
            remedy,
        )
        require(
            trial.rows == most or not self.reports_while_reading,
            f"{trial.rows} rows of {most} are reported when all is read",
            f"{remedy}; pass on what was reported before a result, before the result",
        )
        require(
            "waited" not in {what for what, *_ in _journal(tmp_path)},
            "while a file was read for 30 s, nothing of it was reported",
            f"{remedy}, as it comes; or say `reports_while_reading = False`",
        )

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
            require(
                mine.error == expected.error,
                f"the run ends with {mine.error}, by the engine local with {expected.error}",
                KEPT,
            )
            self._require_not_all(inputs, f"after {line!r}", "raise an error when it comes")
            require(
                not (folder / "out" / "_harvest" / "manifest.json").exists(),
                "a run that was stopped has committed",
                KEPT,
            )

    @promise("runs have nothing to do with each other, one after the other or at the same time")
    def test_runs_are_independent(self, tmp_path: Path) -> None:
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
        inputs = [_inputs(folder, {}, {f"s{n}": f"{n}\n" for n in range(6)}) for folder in folders]
        stopped = tmp_path / "stopped"
        stopped.mkdir()
        bad = _inputs(stopped, {}, {f"s{n}": "bad\nbad\n" for n in range(6)})
        # in one process: after one that failed, where nobody looks at progress, in a thread
        wholes = {
            "after one that failed": self.of(inputs[0], folders[0] / "out"),
            "without work.on_progress": self.of(inputs[0], folders[0] / "quiet", watched=False),
            "in a thread": self.of(inputs[0], folders[0] / "threaded", threaded=True),
        }
        failing = self.of(bad, stopped / "out", more={"max_rejects": 1})
        first, *others = self.run_all(folders[0], failing, *wholes.values())
        require(first.error is not None, first.words, KEPT)
        remedy = "keep what belongs to a run in variables of run()"
        for (about, whole), trial in zip(wholes.items(), others, strict=True):
            require(trial.committed, f"in the same process {about}, {trial.words}", remedy)
            self.require_local(inputs[0], whole.out)
        with ThreadPoolExecutor(2) as threads:
            pairs = [(each, each.parent / "at once") for each in inputs]
            trials = list(threads.map(lambda pair: self.run(*pair), pairs))
        for (each, out), trial in zip(pairs, trials, strict=True):
            remedy = "give files, ports and directories names of the run's own"
            require(trial.committed, f"beside another run {trial.words}", remedy)
            self.require_local(each, out)

    @promise("a source that the program itself defines is read, or refused with words")
    def test_a_source_of_the_program_is_read_or_refused(self, tmp_path: Path) -> None:
        inputs = _inputs(tmp_path, {}, {f"s{n}": f"{n}\n" for n in range(3)})
        trial = self.run(inputs, tmp_path / "out", own=True)
        refused = trial.error is not None and trial.error[0] in ("UsageError", "ConfigError")
        require(
            trial.committed or refused,
            trial.words,
            "where work.importable is false, call Bundle.read in the run's own process",
        )

    @promise("memory does not grow with the number of bundles")
    def test_bundles_are_not_gathered(self, tmp_path: Path) -> None:
        inputs = _inputs(tmp_path, {}, {f"s{n:02}": f"{n}\n" for n in range(40)})
        light = self.run(inputs, tmp_path / "light", workers=1)
        (tmp_path / "weight").write_text("2500000")
        heavy = self.run(inputs, tmp_path / "heavy", workers=1)
        for trial in (light, heavy):
            require(trial.committed, trial.words, KEPT)
        grown = heavy.peak_bytes - light.peak_bytes
        require(
            grown < 60_000_000,
            f"with bundles of 2.5 MB, of which 40 are read one after the other, the run's process "
            f"takes {grown / 1e6:.0f} MB more",
            "ask for the next bundle when it can soon be given out, and let go of it when it is "
            "done",
        )


_PREPARED = "call prepare() of each bundle in run(), in the order of work.bundles, once"
_LOST = (
    "notice that a worker has ended; give what it had in hand out again, or raise HarvestError: "
    "the next run takes what is staged"
)


def _lost(folder: Path) -> list[str]:
    """The processes of workers that died of a file."""
    lost = (folder / "killed.readers").read_text().split()
    if (folder / "mine" / "run.pid").read_text() in lost:
        does_not_apply("it reads in the run's own process, so that no worker can be lost")
    return lost


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
