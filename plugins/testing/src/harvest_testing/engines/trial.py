"""Runs by an engine, in a process of their own: what they said, and what came of them."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import attrs

import harvest
from harvest import interrupt
from harvest.engines import Progress
from harvest.errors import ExitCode, HarvestError
from harvest.plugins import PluginManager, plugins_of
from harvest_testing.lab.globals import changes, snapshot
from harvest_testing.lab.process import in_process

FILE: Final = Path(__file__).with_name("lines.py")
"""The plugin that reads and writes."""

OURS: Final = ("standard streams", "random numbers (random.seed)", "processes that it has started")
"""What these runs may change of the process: that of multiprocessing stays to its end."""


@attrs.frozen(kw_only=True)
class Harvest:
    """What is to be harvested.

    inputs: a directory of text files; out: of the dataset.  more: arguments of ``harvest.run``.
    threaded: whether it is run by another thread than the main one.
    """

    inputs: Path
    out: Path
    workers: int | None = None
    more: Mapping[str, Any] = attrs.field(factory=dict)
    threaded: bool = False


@attrs.frozen(kw_only=True)
class Trial:
    """How a run ended.

    status: of its process; None where it had to be ended, negative where a signal did it.
    error: class, text, place, remedy and exit code of what it raised; None where it committed.
    rows, size_bytes: what was reported as progress; said: what it printed as output.
    changed: what of the whole process is not as it was.  errors: what the process printed.
    """

    status: int | None = 0
    error: tuple[str, str, str | None, str | None, int] | None = None
    rows: int = 0
    size_bytes: int = 0
    said: str = ""
    changed: tuple[str, ...] = ()
    errors: str = ""

    @property
    def committed(self) -> bool:
        """Whether the run did what it was to do."""
        return self.status == 0 and self.error is None

    @property
    def words(self) -> str:
        """How it ended."""
        if self.status is None:
            return "the run never ends"
        if self.committed:
            return "the run committed"
        if self.error is not None:
            return f"the run ended with {self.error[0]}: {self.error[1]}"
        return f"the run ended with status {self.status}: {self.errors.strip()[-500:]}"


def tried(
    engine: type[harvest.Engine] | None,
    *harvests: Harvest,
    settings: Mapping[str, Any],
    scratch: Path,
    limit_s: float,
) -> list[Trial]:
    """Harvest one after the other in a process of their own, which has so much time.

    engine: None for the engine ``local``, which the others are compared with.
    scratch: a directory, in which ``run.pid`` gets the process's number.
    """
    scratch.mkdir(exist_ok=True)
    process = in_process(
        *(_run, engine, harvests, dict(settings), str(scratch)),
        scratch=scratch,
        limit_s=limit_s,
        cwd=scratch.parent,  # names in a dataset are made of the paths that are given
    )
    trials = process.result or [Trial(status=process.status)] * len(harvests)
    return [attrs.evolve(trial, errors=process.errors) for trial in trials]


class _Watching:
    """An observer of a run that adds up what is reported, and lets lines go that wait for it."""

    def __init__(self, scratch: Path) -> None:
        self.rows = self.size_bytes = 0
        self.scratch = scratch

    def progressed(self, progress: Progress) -> None:
        self.rows += progress.rows
        self.size_bytes += progress.size_bytes
        (self.scratch / "progressed.go").touch()

    def finished(self, *_: Any) -> None: ...

    def copying(self, *_: Any) -> None: ...

    def planned(self, *_: Any) -> None: ...


class _Declared:
    """A plugin that is one engine."""

    harvest_api = 1

    def __init__(self, engine: type[harvest.Engine]):
        self._engine = engine

    @harvest.hookimpl
    def harvest_engines(self) -> Iterable[harvest.EngineSpec]:
        return [harvest.EngineSpec(name=self._engine.name, doc="Under test.", factory=self._engine)]


def _plugins(engine: type[harvest.Engine] | None) -> PluginManager:
    declared = [] if engine is None or engine.name == "local" else [_Declared(engine)]
    return plugins_of(*declared)


def _run(
    engine: type[harvest.Engine] | None,
    harvests: Sequence[Harvest],
    settings: Mapping[str, Any],
    scratch: str,
) -> list[Trial]:
    (Path(scratch) / "run.pid").write_text(str(os.getpid()))
    importlib.import_module("polars")  # it sets a variable of the environment
    interrupt.install()
    plugins = _plugins(engine)
    name = "local" if engine is None else engine.name
    plugins.engine(name)
    trials = []
    for number, each in enumerate(harvests):
        before = snapshot(later=number > 0)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            trial = _harvested(each, name, settings, plugins, Path(scratch))
        changed = [what for what in changes(before) if what not in OURS]
        trials.append(attrs.evolve(trial, said=said.getvalue(), changed=tuple(changed)))
    return trials


def _harvested(
    each: Harvest, name: str, settings: Mapping[str, Any], plugins: PluginManager, place: Path
) -> Trial:
    observer: Any = _Watching(place)

    def work() -> None:
        harvest.run(
            f"{FILE}:{os.path.relpath(each.inputs)}",
            f"{FILE}:{os.path.relpath(each.out)}",
            settings={name: settings} if settings else None,
            engine=name,
            workers=each.workers,
            observer=observer,
            plugins=plugins,
            **each.more,
        )

    try:
        with interrupt.orderly(), ThreadPoolExecutor(1) as threads:
            threads.submit(work).result() if each.threaded else work()
    except KeyboardInterrupt:
        return Trial(status=ExitCode.INTERRUPTED)
    except HarvestError as error:
        code = int(error.exit_code)
        return Trial(error=(type(error).__name__, str(error), error.where, error.remedy, code))
    except OSError as error:
        return Trial(error=(type(error).__name__, str(error), error.filename, None, 1))
    return Trial(rows=observer.rows, size_bytes=observer.size_bytes)


def contents(out: Path) -> dict[str, Any]:
    """Everything that a dataset holds: files, rejects, and what is accounted for each partition."""
    plugins = _plugins(None)
    plugins.add_file(FILE)
    dataset = harvest.open(out, plugins=plugins)
    return {
        "files": {
            str(path.relative_to(out)): path.read_bytes()
            for path in sorted(out.rglob("*"))
            if path.is_file() and "_harvest" not in path.relative_to(out).parts
        },
        "rejects": [repr(reject) for reject in dataset.rejects()],
        "accounts": [(part.origin, part.read, part.rejected, part.rows) for part in dataset.parts],
        "staging": [path.name for path in (out / "_harvest" / "staging").iterdir()],
    }
