"""Engines: where partitions are read."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from harvest.reading.task import Progress, identify
from harvest.reading.terms import Absolute, Terms, probed, versions_for
from harvest.recipes.recipe import Recipe
from harvest.storage.manifest import Manifest


@attrs.frozen(kw_only=True)
class Work:
    """What a run gives an engine to do.

    bundles: the partitions to read, those together that are small; each is made when it is asked
        for, since there may be very many.
    partitions: how many there are.
    cost_bytes: input that is read in the time that all of it takes, to choose how many workers are
        worth starting.
    on_progress: called in this process with what a running bundle reports; None where nobody looks.
    terms: what workers elsewhere must have in common with the run; None but inside ``remote``.
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
        """Whether other processes have its sources and sinks, and not this program alone."""
        return all(type(item).__module__ != "__main__" for item in (*self._sources, *self._sinks))

    @property
    def state(self) -> Path:
        """The first dataset's own directory, for what the engine must keep while it works."""
        return self._sinks[0].state

    @contextlib.contextmanager
    def remote(self, *, lasting: bool = False) -> Iterator[Work]:
        """The same for workers elsewhere, inside the ``with``.

        Its bundles mean the same in another working directory, and refuse to be read by a worker
        that has another version of harvest, the engine or a plugin, or other directories instead
        of the datasets'.
        lasting: whether they may be read after the ``with``, too; then directories are not checked.
        Raises UsageError for sources and sinks that no worker elsewhere could have.
        """
        versions = {**versions_for([*self._sources, *self._sinks]), **self._versions}
        terms = Terms(versions=tuple(sorted(versions.items())))
        absolute = Absolute()
        with contextlib.nullcontext(terms) if lasting else probed(terms, self._sinks) as terms:
            yield attrs.evolve(
                self,
                terms=terms,
                bundles=Bundles(
                    self.bundles, lambda b: Bundle(tuple(map(absolute, b._tasks)), terms)
                ),
            )

    def awaited(self) -> Awaited:
        """To find what workers stage whose results do not come back by themselves."""
        return Awaited(self._sinks, self.on_progress)

    def left(self) -> Work:
        """What can be left to others, for a process that commits later and is this run again.

        Without partitions that have no lasting state, such as a live cluster's: it reads these.
        Raises UsageError for pipes, and, once a bundle is asked for, where ``--force`` alone has it
        read: what was staged of it would not be missed.
        """
        self._recipe.refuse_pipes("a job that commits later")
        lasting = [n for n, b in enumerate(self.bundles) if not b._tasks[0].targets[0][1].live]
        held: dict[int, Manifest | None] = {}
        return attrs.evolve(
            self, bundles=Bundles(lasting, lambda number: _left(self.bundles[number], held))
        )

    def again(self, recipe: Path, *, workers: int, wait_s: float) -> tuple[str, ...]:
        """The words of a ``harvest`` command that is this run again, by the engine ``local``.

        recipe: where ``write_recipe`` writes what they do not say; wait_s: for the datasets' locks.
        """
        # locations may hold bytes that are not text, which TOML cannot
        return (
            "run",
            str(recipe),
            *(f"--source={endpoint}" for endpoint in self._recipe.sources),
            *(f"--sink={endpoint}" for endpoint in self._recipe.sinks),
            f"--workers={workers}",
            f"--wait={wait_s:.0f}",
        )

    def write_recipe(self, path: Path) -> None:
        """Write what ``again`` needs, for this user alone: settings may hold a password."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        rest = attrs.evolve(self._recipe, sources=(), sinks=(), engine="local", workers=None)
        path.write_text(rest.to_toml(), encoding="utf-8")


def _left(bundle: Bundle, held: dict[int, Manifest | None]) -> Bundle:
    """A bundle by the names of its parts; held: the manifests of the sinks, by id."""
    tasks = tuple(map(identify, bundle._tasks))
    for sink, part in (target for task in tasks for target in task.targets):
        if id(sink) not in held:
            held[id(sink)] = Manifest.load(sink.state)
        manifest = held[id(sink)]
        there = manifest.parts.get(part.key) if manifest is not None else None
        if there is not None and there.stem == part.stem and there.settled:
            raise UsageError(
                "--force does not work with a last job, which would find nothing changed",
                remedy="let the run wait for the jobs",
            )
    return Bundle(tasks, bundle.terms)


class Engine(abc.ABC):
    """Has the partitions of a run read, in this process or by workers elsewhere.

    name: what users type after ``--engine``, and before a setting of it.
    Config: attrs class of its settings; each field's metadata key ``doc`` documents it.
    workers: how many at the same time; None for as many as make sense.

    Raises ConfigError for a setting that is unknown or does not fit.
    """

    name: ClassVar[str]
    Config: ClassVar[type] = NoConfig

    def __init__(self, workers: int | None = None, **settings: Any):
        self.workers = workers
        self.config: Any = structure(self.Config, settings, plugin=self.name)

    @abc.abstractmethod
    def run(self, work: Work) -> Iterator[Result]:
        """What ``Bundle.read`` gives for each bundle, or for what it was split in or joined to.

        As they are done, in any order.  A bundle may be attempted again when its worker is lost,
        even while the lost one lives on; a result that comes twice counts once.  When the iterator
        is closed early, what is not yet begun is dropped and what runs is stopped, where the engine
        has it in its hands.  What ``Bundle.read`` raises is raised here.  Raises HarvestError when
        workers are lost for good.
        """

    def scripts(self, work: Work) -> Sequence[str]:
        """What ``run`` would submit to a batch system, as text; nothing is written.

        Engines that submit nothing have none.
        """
        return ()
