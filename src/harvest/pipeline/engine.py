"""Engines: where and how the partitions of a run are read."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import attrs

from harvest.api.located import NoConfig
from harvest.api.settings import structure
from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.errors import UsageError
from harvest.reading.awaited import Awaited
from harvest.reading.bundle import Bundle, Bundles, Result
from harvest.reading.task import Progress, Task, identify
from harvest.reading.terms import Terms, absolute, probed, versions_for
from harvest.recipes.recipe import Recipe
from harvest.storage.manifest import Manifest


@attrs.frozen(kw_only=True)
class Work:
    """The work that a run gives to an engine.

    bundles: the partitions to read, small ones grouped; built on access, since there may be many.
    partitions: number of partitions.
    cost_bytes: estimated cost in input bytes, to choose the number of workers.
    on_progress: called in this process with progress of running bundles; None if nobody listens.
    terms: what remote workers must have in common with the run; None except inside ``remote``.
    run: the id of the run.
    """

    bundles: Sequence[Bundle]
    partitions: int = 0
    cost_bytes: int = 0
    on_progress: Callable[[Progress], None] | None = None
    terms: Terms | None = None
    run: str = ""
    _sources: Sequence[Source] = ()
    _sinks: Sequence[Sink] = ()
    _versions: Mapping[str, str] = attrs.field(factory=dict)
    _recipe: Recipe = attrs.field(factory=Recipe)

    @property
    def importable(self) -> bool:
        """Whether other processes can import the sources and sinks: none is from ``__main__``."""
        return all(type(item).__module__ != "__main__" for item in (*self._sources, *self._sinks))

    @property
    def state(self) -> Path:
        """State directory of the first dataset, for files that the engine needs while it works."""
        return self._sinks[0].state

    @contextlib.contextmanager
    def remote(self, *, lasting: bool = False) -> Iterator[Work]:
        """Prepare the work for remote workers, within the ``with``.

        Its bundles are valid in another working directory. A worker refuses them if its version of
        harvest, the engine or a plugin differs, or if it does not see the datasets' directories.
        lasting: whether bundles may also be read after the ``with``; then directories are not
            checked.
        Raises UsageError for sources and sinks that no remote worker can have.
        """
        used: list[Any] = [*self._sources, *self._sinks]
        versions = {**versions_for(used), **self._versions}
        terms = Terms(versions=tuple(sorted(versions.items())))
        made = {id(item): absolute(item) for item in used}

        def moved(task: Task) -> Task:
            targets = tuple((made[id(sink)], part) for sink, part in task.targets)
            return attrs.evolve(task, source=made[id(task.source)], targets=targets)

        with contextlib.nullcontext(terms) if lasting else probed(terms, self._sinks) as terms:
            yield attrs.evolve(
                self,
                terms=terms,
                bundles=Bundles(self.bundles, lambda b: Bundle(tuple(map(moved, b._tasks)), terms)),
            )

    def awaited(self) -> Awaited:
        """Return an object that finds staged work of workers that return no results."""
        return Awaited(self._sinks, self.on_progress)

    def left(self) -> Work:
        """Return the work that others can do, for a last job that repeats this run to commit.

        Leaves out partitions without a lasting state, such as a live cluster's: the last job reads
        them. Raises UsageError for pipes. Accessing a bundle raises UsageError if it is read only
        because of ``--force``: the last job would take it for unchanged.
        """
        self._recipe.refuse_pipes("a job that commits later")
        lasting = [n for n, b in enumerate(self.bundles) if not b._tasks[0].targets[0][1].live]
        manifest_in = cache(Manifest.load)
        return attrs.evolve(
            self, bundles=Bundles(lasting, lambda number: _left(self.bundles[number], manifest_in))
        )

    def again(self, recipe: Path, *, workers: int, wait_s: float) -> tuple[str, ...]:
        """Return the arguments of ``harvest`` that repeat this run with the engine ``local``.

        recipe: path for ``write_recipe``, which writes all other options.
        wait_s: seconds to wait for the datasets' locks.
        """
        # locations are arguments: they may contain bytes that TOML cannot hold
        return (
            "run",
            str(recipe),
            *(f"--source={endpoint}" for endpoint in self._recipe.sources),
            *(f"--sink={endpoint}" for endpoint in self._recipe.sinks),
            f"--workers={workers}",
            f"--wait={wait_s:.0f}",
        )

    def write_recipe(self, path: Path) -> None:
        """Write the recipe for ``again``, readable by this user only: it may hold a password."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        rest = attrs.evolve(self._recipe, sources=(), sinks=(), engine="local", workers=None)
        path.write_text(rest.to_toml(), encoding="utf-8")


def _left(bundle: Bundle, manifest_in: Callable[[Path], Manifest | None]) -> Bundle:
    """Return a bundle with identified parts; manifest_in: loads that of a state directory."""
    tasks = tuple(map(identify, bundle._tasks))
    for sink, part in (target for task in tasks for target in task.targets):
        manifest = manifest_in(sink.state)
        there = manifest.parts.get(part.key) if manifest is not None else None
        if there is not None and there.stem == part.stem and there.settled:
            problem = "--force does not work with a last job, which would find nothing changed"
            raise UsageError(problem, remedy="let the run wait for the jobs")
    return Bundle(tasks, bundle.terms)


class Engine(abc.ABC):
    """An engine: reads the partitions of a run in this process or by workers elsewhere.

    name: the name after ``--engine`` and before its settings.
    Config: attrs class of its settings; each field's metadata key ``doc`` documents it.
    workers: number of concurrent workers; None lets the engine choose.

    Raises ConfigError for an unknown or unsuitable setting.
    """

    name: ClassVar[str]
    Config: ClassVar[type] = NoConfig

    def __init__(self, workers: int | None = None, **settings: Any):
        self.workers = workers
        self.config: Any = structure(self.Config, settings, plugin=self.name)

    @abc.abstractmethod
    def run(self, work: Work) -> Iterator[Result]:
        """Yield the result of ``Bundle.read`` for each bundle, in order of completion.

        Bundles may be split or joined before. If a worker is lost, its bundle may be attempted
        again, even while the lost worker lives on; a repeated result counts once. Closing the
        iterator early drops work that has not begun, and stops running work that the engine
        controls. Errors of ``Bundle.read`` are raised here. Raises HarvestError when workers are
        lost for good.
        """

    def scripts(self, work: Work) -> Sequence[str]:
        """Return the scripts that ``run`` would submit to a batch system; write nothing.

        Engines that submit no jobs return none.
        """
        return ()
