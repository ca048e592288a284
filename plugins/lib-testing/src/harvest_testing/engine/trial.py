"""Runs by an engine, each in a process of its own: what it said, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

import harvest
from harvest import interrupt
from harvest.engines import Progress
from harvest.errors import ExitCode, HarvestError
from harvest.plugins import PluginManager, plugins_of
from harvest_testing.lab.process import in_process

FILE: Final = Path(__file__).with_name("lines.py")
"""The plugin that reads and writes."""


@attrs.frozen(kw_only=True)
class Trial:
    """How a run ended.

    ended: whether it did by itself; status: of its process, negative: killed by that signal.
    error: class and text of what it raised; None where it committed.
    rows, size_bytes: what was reported as progress; errors: what it printed.
    """

    ended: bool = True
    status: int = 0
    error: tuple[str, str] | None = None
    rows: int = 0
    size_bytes: int = 0
    errors: str = ""

    @property
    def committed(self) -> bool:
        """Whether the run did what it was to do."""
        return self.ended and self.status == 0 and self.error is None

    @property
    def words(self) -> str:
        """How it ended."""
        if not self.ended:
            return "the run did not end"
        if self.error is not None:
            return f"the run ended with {self.error[0]}: {self.error[1]}"
        return f"the run ended with status {self.status}: {self.errors.strip()[-500:]}"


def tried(
    engine: type[harvest.Engine] | None,
    inputs: Path,
    out: Path,
    *,
    settings: Mapping[str, Any],
    workers: int,
    scratch: Path,
    limit_s: float,
    **more: Any,
) -> Trial:
    """Harvest a directory of text files in a process of its own, which has so much time.

    engine: None for the engine ``local``, which the others are compared with.
    scratch: an existing directory, in which ``run.pid`` gets the process's number.
    """
    arguments = (engine, str(inputs), str(out), dict(settings), workers, str(scratch), more)
    process = in_process(_run, *arguments, scratch=scratch, limit_s=limit_s)
    if process.status is None:
        return Trial(ended=False)
    trial = process.result or Trial(status=process.status)
    return attrs.evolve(trial, errors=process.errors)


class _Watching:
    """An observer of a run that adds up what is reported, in this process."""

    def __init__(self) -> None:
        self.rows = self.size_bytes = 0

    def progressed(self, progress: Progress) -> None:
        self.rows += progress.rows
        self.size_bytes += progress.size_bytes

    def spooled(self, *_: Any) -> None: ...

    def planned(self, *_: Any) -> None: ...

    def finished(self, *_: Any) -> None: ...


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
    inputs: str,
    out: str,
    settings: Mapping[str, Any],
    workers: int,
    scratch: str,
    more: Mapping[str, Any],
) -> Trial:
    (Path(scratch) / "run.pid").write_text(str(os.getpid()))
    interrupt.install()
    name = "local" if engine is None else engine.name
    observer: Any = _Watching()
    try:
        with interrupt.orderly():
            harvest.run(
                f"{FILE}:{inputs}",
                f"{FILE}:{out}",
                settings={name: settings} if settings else None,
                engine=name,
                workers=workers,
                observer=observer,
                plugins=_plugins(engine),
                **more,
            )
    except KeyboardInterrupt:
        return Trial(status=ExitCode.INTERRUPTED)
    except HarvestError as error:
        return Trial(error=(type(error).__name__, str(error)))
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
    }
