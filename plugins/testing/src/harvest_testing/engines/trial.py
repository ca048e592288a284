"""Runs by an engine, in a process of their own: what they said, and what came of them."""

from __future__ import annotations

import contextlib
import importlib
import io
import multiprocessing
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest import mock

import attrs

import harvest
from harvest import interrupt
from harvest.engines import Progress
from harvest.errors import ExitCode, HarvestError
from harvest.plugins import PluginManager, plugins_of
from harvest_testing.kits import changes, child_processes, in_process, peak_memory, snapshot

FILE: Final = Path(__file__).with_name("lines.py")
"""The plugin that reads and writes."""

MARK: Final = "HARVEST_CONFORMANCE"
"""The environment variable by which processes of a run are known."""

OURS: Final = (
    *("standard streams", "random numbers (random.seed)", "processes that it has started"),
)
"""What these runs may change of the process: that of multiprocessing stays to its end."""

SLOW_S: Final = 5.0
"""How long a run is busy where it is to be slow."""


@attrs.frozen(kw_only=True)
class Harvest:
    """What is to be harvested.

    inputs: a directory of text files; out: of the dataset.  more: arguments of ``harvest.run``.
    watched: whether somebody looks at progress.
    own: whether the source is defined by the program itself, as in a notebook.
    threaded: whether it is run by a thread of a program that has a child process of its own.
    cores: how many the machine seems to have, of which the process may use one; None: as it is.
    dying: a file; when the first result comes, the run is busy until it is there, or ``SLOW_S``.
    """

    inputs: Path
    out: Path
    workers: int | None = None
    more: Mapping[str, Any] = attrs.field(factory=dict)
    watched: bool = True
    own: bool = False
    threaded: bool = False
    cores: int | None = None
    dying: Path | None = None


@attrs.frozen(kw_only=True)
class Trial:
    """How a run ended.

    ended: whether it did by itself; status: of its process, negative: killed by that signal.
    error: class, text, place, remedy and exit code of what it raised; None where it committed.
    rows, size_bytes: what was reported as progress; said: what it printed as output.
    changed: what of the whole process is not as it was; used: settings of the engine that it read.
    peak_bytes: of memory.  children: most child processes when a result came.
    errors: what the process printed, and what it has started.
    left: processes and files that are still there.
    """

    ended: bool = True
    status: int = 0
    error: tuple[str, str, str | None, str | None, int] | None = None
    rows: int = 0
    size_bytes: int = 0
    said: str = ""
    changed: tuple[str, ...] = ()
    used: frozenset[str] = frozenset()
    peak_bytes: int = 0
    children: int = 0
    errors: str = ""
    left: tuple[str, ...] = ()

    @property
    def committed(self) -> bool:
        """Whether the run did what it was to do."""
        return self.ended and self.status == 0 and self.error is None

    @property
    def words(self) -> str:
        """How it ended."""
        if not self.ended:
            return "the run did not end"
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
    # paths are given relative to a directory, of which names in the dataset are made
    places = [scratch, scratch / "temporary", scratch.parent / "elsewhere"]
    again = scratch.exists()
    for place in places:
        place.mkdir(exist_ok=True)
    there = {path for place in places[1:] for path in place.rglob("*")}
    mark = secrets.token_hex(8)
    process = in_process(
        *(_run, engine, harvests, dict(settings), str(scratch)),
        scratch=scratch,
        limit_s=limit_s,
        cwd=places[2],
        environment={MARK: mark, "TMPDIR": str(places[1])},
    )
    if process.status is None:
        ended_by(mark, 0)
        return [Trial(ended=False)] * len(harvests)
    trials = process.result or [Trial(status=process.status)] * len(harvests)
    left = [f"process {each}" for each in ended_by(mark)]
    if again:  # a library may keep a file of its own; each run's own would be ever more
        left += [str(path) for place in places[1:] for path in {*place.rglob("*")} - there]
    return [attrs.evolve(trial, errors=process.errors, left=tuple(left)) for trial in trials]


def surroundings() -> str:
    """What a process has from the run that its workers belong to: a variable, and the umask."""
    umask = Path("/proc/self/status").read_text().partition("Umask:")[2].split()[0]
    return f"{MARK}={os.environ.get(MARK)}, umask {umask}"


def ended_by(mark: str, within_s: float = 20) -> list[str]:
    """Processes with a mark that do not end in time, with their commands; they are killed."""

    def held() -> dict[int, str]:
        found = {}
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # another user's, or it has ended meanwhile
                if f"{MARK}={mark}".encode() in environment.read_bytes():
                    command = environment.with_name("cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(environment.parent.name)] = command[:200].decode("utf-8", "replace")
        return found

    until = time.monotonic() + within_s
    while (left := held()) and time.monotonic() < until:
        time.sleep(0.1)
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return [f"{process} ({command.strip()})" for process, command in left.items()]


class _Watching:
    """An observer of a run that adds up what is reported, and lets lines go that wait for it."""

    def __init__(self, scratch: Path, dying: Path | None) -> None:
        self.rows = self.size_bytes = self.children = 0
        self.scratch, self.dying = scratch, dying

    def progressed(self, progress: Progress) -> None:
        self.rows += progress.rows
        self.size_bytes += progress.size_bytes
        (self.scratch / "progressed.go").touch()

    def finished(self, *_: Any) -> None:
        self.children = max(self.children, len(child_processes()))
        (self.scratch / "finished.go").touch()
        until = time.monotonic() + SLOW_S
        while self.dying is not None and time.monotonic() < until:
            time.sleep(0.1)
            if self.dying.exists():
                time.sleep(0.5)
                self.dying = None

    def spooled(self, *_: Any) -> None: ...

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
    place = Path(scratch)
    (place / "run.pid").write_text(str(os.getpid()))
    (place / "surroundings").write_text(surroundings())
    os.register_at_fork(after_in_child=lambda: _note_fork(place))
    importlib.import_module("polars")  # it sets a variable of the environment
    interrupt.install()
    used: set[str] = set()
    plugins = _plugins(engine)
    name = "local" if engine is None else engine.name
    looked_at = plugins.engine(name)
    looked_at.Config = _recorded(looked_at.Config, used)
    trials = []
    for number, each in enumerate(harvests):
        looked_at.run = _clearing(looked_at.run, used, watched=each.watched)
        before = snapshot(later=number > 0)
        with contextlib.redirect_stdout(io.StringIO()) as said, _within(each) as harmed:
            trial = _harvested(each, name, settings, plugins, place)
        altered = [each for each in changes(before) if each not in OURS]
        trials.append(
            attrs.evolve(
                trial,
                said=said.getvalue(),
                changed=(*altered, *harmed),
                used=frozenset(used),
                peak_bytes=peak_memory(),
            )
        )
    return trials


def _note_fork(place: Path) -> None:
    with (place / "forks").open("a") as forks:
        forks.write(f"{os.getpid()}\n")


@contextlib.contextmanager
def _within(each: Harvest) -> Iterator[list[str]]:
    """In the program that a harvest wants; gives what of it was harmed, once it is over."""
    harmed: list[str] = []
    with contextlib.ExitStack() as stack:
        if cores := each.cores:
            stack.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            stack.enter_context(mock.patch.object(os, "cpu_count", return_value=cores))
        if not each.threaded:
            yield harmed
            return
        context = multiprocessing.get_context("spawn")
        child = context.Process(target=time.sleep, args=(SLOW_S * 100,), daemon=True)
        child.start()
        yield harmed
        if not child.is_alive():
            harmed.append("child processes (one has ended)")
        child.kill()
        child.join()


def _harvested(
    each: Harvest, name: str, settings: Mapping[str, Any], plugins: PluginManager, place: Path
) -> Trial:
    observer: Any = _Watching(place, each.dying)
    source: Any = f"{FILE}:{os.path.relpath(each.inputs)}"
    if each.own:
        plugins.add_file(FILE)
        work = plugins.load(plugins.sources["conformance-work"])
        body = {"__module__": "__main__", "__qualname__": "Own", "name": "conformance-own"}
        own: Any = type("Own", (work,), body)
        vars(sys.modules["__main__"])["Own"] = own
        source = own.configured(str(each.inputs))
    work = partial(
        harvest.run,
        source,
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
    rows, size_bytes, children = observer.rows, observer.size_bytes, observer.children
    return Trial(rows=rows, size_bytes=size_bytes, children=children)


def _recorded(config: type, used: set[str]) -> type:
    """The class of settings, which writes down what is read of it; it travels as it was."""
    names = {each.name for each in attrs.fields(config)}

    class Recorded(config):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            if name in names:
                used.add(name)
            return super().__getattribute__(name)

        def __reduce__(self) -> Any:
            return _plain, (config, attrs.asdict(self, recurse=False))

    Recorded.__qualname__, Recorded.__module__ = config.__qualname__, config.__module__
    return Recorded


def _plain(config: type, values: Mapping[str, Any]) -> Any:
    return config(**values)


def _clearing(
    run: Callable[..., Any], used: set[str], *, watched: bool
) -> Callable[[harvest.Engine, harvest.Work], Any]:
    """An engine's ``run``, before which no setting counts as read."""

    def started(self: harvest.Engine, work: harvest.Work) -> Any:
        used.clear()
        return run(self, work if watched else attrs.evolve(work, on_progress=None))

    return started


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
        "state": sorted(path.name for path in (out / "_harvest").iterdir()),
    }
