"""The conformance kit for engines: each must give the same dataset as the engine ``local``.

Each run takes place in a separate process.
"""

import contextlib
import importlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs

import harvest
from harvest import interrupt
from harvest.errors import ExitCode, HarvestError
from harvest.plugins import plugins_of

from .lab.files import files_below
from .lab.globals import changes, snapshot
from .lab.process import in_process
from .promise import BrokenPromise, Conformance, does_not_apply, promise, require

LINES: Final = Path(__file__).with_name("engine_lines.py")
"""The plugin with the kit's source and sink."""

OURS: Final = ("standard streams", "random numbers (random.seed)", "processes that it has started")
"""Process state that a run may change: multiprocessing keeps its changes until the process ends."""

SMALL = 200
"""Number of files with few lines, which are read together."""

LARGE = (64 << 20) + 1
"""Size in bytes of a file that an engine hands out alone, if it hands out any file alone."""

LOSSES, APART = 5, 6
"""Number of workers that are lost one after the other, and number of files from loss to loss."""

ATTEMPTS = 40
"""Attempts that a partition whose workers die may not reach."""

KEPT = "let run() raise what Bundle.read raises, and give each of its results"
PREPARED = "call prepare() of each bundle in run(), in the order of work.bundles, once"
LOST = (
    "notice that a worker has ended; give what it had in hand out again, or raise HarvestError: "
    "the next run takes what is staged"
)


@attrs.frozen(kw_only=True)
class Trial:
    """The result of a run in a separate process.

    status: exit status of the process: negative for a signal, None if it was killed at the limit.
    error: class, text, place, remedy and exit code of the error raised; None if there was none.
    said: standard output of the run. changed: names of process state that the run changed.
    errors: everything that the process printed.
    """

    status: int | None = 0
    error: tuple[str, str, str | None, str | None, int] | None = None
    said: str = ""
    changed: tuple[str, ...] = ()
    errors: str = ""

    @property
    def committed(self) -> bool:
        """Whether the run ended without an error."""
        return self.status == 0 and self.error is None

    @property
    def words(self) -> str:
        """How the run ended, as a clause for messages."""
        if self.status is None:
            return "the run never ends"
        if self.committed:
            return "the run committed"
        if self.error is not None:
            return f"the run ended with {self.error[0]}: {self.error[1]}"
        return f"the run ended with status {self.status}: {self.errors.strip()[-500:]}"


class EngineConformance(Conformance):
    """Tests of everything that an engine promises; an author's test class inherits them.

    engine: the class under test, which this process and workers can import by its module's name.
    settings: the engine's settings (key -> value) in all tests.
    workers: number of workers.
    limit_s: maximum duration of a run in seconds.
    """

    engine: ClassVar[type[harvest.Engine]]
    workers: ClassVar[int] = 2
    limit_s: ClassVar[float] = 600

    def run(self, inputs: Path, out: Path, **how: Any) -> Trial:
        """Harvest with the engine under test, and require that it leaves its process unchanged.

        how: further arguments of ``harvest.run``.
        """
        if getattr(self, "engine", None) is None:
            about = f"{type(self).__name__} has no engine"
            raise BrokenPromise(about, "set engine = YourEngine in the class")
        (inputs.parent / "journal").unlink(missing_ok=True)
        settings = {self.engine.name: self.settings} if self.settings else None
        how = {"workers": self.workers, "settings": settings, **how}
        trial = self._tried("mine", self.engine, inputs, out, how)
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
        return trial

    def by_local(self, inputs: Path, out: Path, **how: Any) -> Trial:
        """Harvest the same inputs with the engine ``local``, for comparison."""
        local = plugins_of().engine("local")
        return self._tried("reference", local, inputs, out, {"workers": 1, **how})

    def _tried(
        self, place: str, engine: type[harvest.Engine], inputs: Path, out: Path, how: dict[str, Any]
    ) -> Trial:
        scratch = inputs.parent / place
        scratch.mkdir(exist_ok=True)
        task = (_run, engine, inputs, out, how, scratch / "run.pid")
        # a dataset's file names depend on the given paths, so both runs use relative ones
        ended = in_process(*task, scratch=scratch, limit_s=self.limit_s, cwd=inputs.parent)
        return attrs.evolve(ended.result or Trial(status=ended.status), errors=ended.errors)

    def require_local(self, inputs: Path, out: Path) -> None:
        """Require that the dataset and its staging area equal those of the engine ``local``."""
        there = inputs.parent / "local"
        if not there.exists():
            local = self.by_local(inputs, there)
            require(local.committed, local.words, "this is a defect of the kit: report it")
        expected = _contents(there)
        for what, found in _contents(out).items():
            about = f"the {what} of the dataset are not those of the engine local"
            require(found == expected[what], about, KEPT)

    @promise("the dataset is to the byte the one of the engine local, whatever files are called")
    def test_the_dataset_is_that_of_the_engine_local(self, tmp_path: Path) -> None:
        texts = {f"s{n:03}": f"one\nbad\nnumber {n}\n" for n in range(SMALL)}
        odd = dict.fromkeys(("a b", "it's", "$HOME", "n\nl", "-x", os.fsdecode(b"\xe9")), "odd\n")
        inputs = _inputs(tmp_path, texts | odd, large=False)
        for workers in (1, None):
            out = tmp_path / f"by-{workers}" / "out"
            trial = self.run(inputs, out, workers=workers)
            require(trial.committed, trial.words, KEPT)
            self.require_local(inputs, out)

    @promise("a worker that is lost costs no row, however many are lost now and then")
    def test_a_lost_worker_costs_no_row(self, tmp_path: Path) -> None:
        texts = {f"s{n:02}": f"number {n}\n" for n in range(LOSSES * APART)}
        for number in range(0, LOSSES * APART, APART):
            texts[f"s{number:02}"] = f"die {tmp_path / f'killed-{number}'} 1\n"
        inputs = _inputs(tmp_path, texts)
        for _ in range(LOSSES + 1):
            trial = self.run(inputs, tmp_path / "out")
            self._require_lost(tmp_path)
            self._require_prepared(inputs)
            if trial.error is None:
                break
            # a failed run may be continued by the next; an engine that replaces workers must finish
            require(trial.error[0] != "PluginError", trial.words, LOST)
            about = f"{LOSSES} workers were lost, with results in between, and {trial.words}"
            done = len(_named(tmp_path, "died"))
            require(done == 1, about, "count losses since the last result: a long run has many")
        require(trial.committed, f"after lost workers {trial.words}", LOST)
        self.require_local(inputs, tmp_path / "out")

    @promise("a partition of which all workers die ends the run with words")
    def test_workers_are_not_replaced_without_end(self, tmp_path: Path) -> None:
        texts = {f"s{n}": f"number {n}\n" for n in range(3)}
        inputs = _inputs(tmp_path, {**texts, "s1": f"die {tmp_path / 'killed'} {ATTEMPTS}\n"})
        trial = self.run(inputs, tmp_path / "out")
        self._require_lost(tmp_path)
        require(
            len(_named(tmp_path, "died")) < ATTEMPTS,
            f"{ATTEMPTS} workers died of one file, and another was started each time",
            "count how often a bundle was given out, and raise HarvestError after some times",
        )
        require(trial.error is not None and trial.error[0] != "PluginError", trial.words, LOST)

    def _require_prepared(self, inputs: Path) -> None:
        """Require that the run's process prepared each partition once, in the plan's order."""
        run = (inputs.parent / "mine" / "run.pid").read_text()
        made = [each for each in _journal(inputs.parent) if each[0] == "prepared"]
        others = [name for _, process, name in made if process != run]
        require(not others, f"{others[:1]} was prepared by another process", PREPARED)
        names = [name for *_, name in made]
        about = f"prepared in the order {names[:6]}, which is not that of the plan, or not once"
        require(names == sorted(set(names)), about, PREPARED)

    def _require_lost(self, folder: Path) -> None:
        """Skip the test if the run's own process died: the engine has no workers to lose."""
        died = {process for what, process, _ in _journal(folder) if what == "died"}
        if (folder / "mine" / "run.pid").read_text() in died:
            does_not_apply("it reads in the run's own process, so that no worker can be lost")

    @promise("what stops a bundle stops the run immediately, by the error of the engine local")
    def test_what_stops_a_bundle_stops_the_run(self, tmp_path: Path) -> None:
        for line in ("bad\nbad", "break"):
            folder = tmp_path / line[:3]
            folder.mkdir()
            texts = {f"s{n:02}": f"pause 0.2\nnumber {n}\n" for n in range(24)}
            inputs = _inputs(folder, {**texts, "s01": f"{line}\n"})
            mine = self.run(inputs, folder / "out", max_rejects=1)
            expected = self.by_local(inputs, folder / "local", max_rejects=1)
            require(mine.error is not None, f"after {line!r} {mine.words}", KEPT)
            about = f"the run ends with {mine.error}, by the engine local with {expected.error}"
            require(mine.error == expected.error, about, KEPT)
            everything = {path.name for path in inputs.iterdir()}
            about = f"after {line!r} all other files are read, too"
            begun = set(_named(folder, "begun"))
            require(begun != everything, about, "raise an error when it comes")


class _Declared:
    """A plugin that offers one engine."""

    harvest_api = 1

    def __init__(self, engine: type[harvest.Engine]):
        spec = harvest.EngineSpec(name=engine.name, doc="Under test.", factory=engine)
        self.harvest_engines = harvest.declare(spec)


def _run(
    engine: type[harvest.Engine], inputs: Path, out: Path, how: Mapping[str, Any], pid: Path
) -> Trial:
    """Harvest a directory of text files in this process; write its id to the file ``pid``."""
    pid.write_text(str(os.getpid()))
    importlib.import_module("polars")  # its import sets an environment variable
    interrupt.install()
    plugins = plugins_of() if engine.name == "local" else plugins_of(_Declared(engine))
    plugins.engine(engine.name)
    before = snapshot()
    places = (f"{LINES}:{os.path.relpath(place)}" for place in (inputs, out))
    trial = Trial()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            with interrupt.orderly():
                harvest.run(*places, engine=engine.name, plugins=plugins, **how)
        except KeyboardInterrupt:
            trial = Trial(status=ExitCode.INTERRUPTED)
        except HarvestError as error:
            more = (error.where, error.remedy, int(error.exit_code))
            trial = Trial(error=(type(error).__name__, str(error), *more))
    changed = tuple(what for what in changes(before) if what not in OURS)
    return attrs.evolve(trial, said=said.getvalue(), changed=changed)


def _contents(out: Path) -> dict[str, Any]:
    """Return a dataset's files, rejects, accounts of partitions, and entries left in staging."""
    plugins = plugins_of()
    plugins.add_file(LINES)
    dataset = harvest.open(out, plugins=plugins)
    return {
        "files": files_below(out, but=out / "_harvest"),
        "rejects": [repr(reject) for reject in dataset.rejects()],
        "accounts": [(part.origin, part.read, part.rejected, part.rows) for part in dataset.parts],
        "staging": [path.name for path in (out / "_harvest" / "staging").iterdir()],
    }


def _inputs(folder: Path, texts: Mapping[str, str], *, large: bool = True) -> Path:
    """Write files into a new directory; large ones are extended with a hole after the text."""
    inputs = folder / "inputs"
    inputs.mkdir()
    for name, text in texts.items():
        (inputs / name).write_text(text)
        if large:
            os.truncate(inputs / name, LARGE)
    return inputs


def _journal(folder: Path) -> list[tuple[str, str, str]]:
    """Read the journal: (event, process id, file name) for each line."""
    path = folder / "journal"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(what, process, bytes.fromhex(name).decode("utf-8", "replace"))
            for what, process, name in map(str.split, lines)]  # fmt: skip


def _named(folder: Path, what: str) -> list[str]:
    """Return the names of the files that have an event in the journal."""
    return [name for done, _, name in _journal(folder) if done == what]
