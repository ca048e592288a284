"""Record types as the metadata map sees them: their place, their steps, and what there is of them.

A run's life has five steps.  A record type's place says which steps it covers (``steps_of``):

1. job start: what the batch system knows and was asked for, the nodes, the mounted file systems;
2. configuration: settings and software;
3. set-up: client, scheduler and workers come up and find each other;
4. execution: tasks are scheduled and run, data moves, code is profiled;
5. I/O and end: what processes and threads did to files, as the system saw it, reported as they end.

Client, scheduler and workers report their set-up and the execution together, so that their types
count in both steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from harvest import PluginError, record_type
from harvest.model import LAYERS, LEVELS

if TYPE_CHECKING:
    from harvest import Dataset, RecordType

STEPS: Final[Mapping[int, str]] = {
    1: "job start",
    2: "configuration",
    3: "set-up",
    4: "execution",
    5: "I/O and end",
}
"""The steps of a run's life, in order."""


def steps_of(layer: str, level: str) -> tuple[int, ...]:
    """The steps of a run's life that a record type of this place covers."""
    if level == "job":
        return (1,)
    if level == "config":
        return (2,)
    if level in ("client", "scheduler", "worker"):
        return (3, 4)
    return (5,) if layer == "system" else (4,)


@attrs.frozen
class Kind:
    """A record type as the map sees it.

    known: its declaration; None where no installed plugin declares it.
    bringers: installed sources that declare it; used: sources whose partitions hold its rows.
    """

    name: str
    known: RecordType | None
    bringers: tuple[str, ...]
    rows: int = 0
    origins: int = 0
    used: tuple[str, ...] = ()
    first: Any = None
    last: Any = None

    @property
    def layer(self) -> str | None:
        """Layer of the map."""
        return self.known.layer if self.known else None

    @property
    def level(self) -> str | None:
        """Level of the map."""
        return self.known.level if self.known else None

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps of a run's life."""
        return steps_of(self.known.layer, self.known.level) if self.known else ()

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the order of layers and levels; unknown ones at the end."""
        if self.known is None:
            return (len(LAYERS), len(LEVELS))
        return (LAYERS.index(self.known.layer), LEVELS.index(self.known.level))


def bringers_of(dataset: Dataset) -> tuple[dict[str, list[str]], list[str]]:
    """Sources by name of the record types that they declare, and sources that do not load."""
    plugins = dataset.plugins
    found: dict[str, list[str]] = {}
    broken = []
    for source in plugins.sources:
        try:
            declared = [record_type(cls).name for cls in plugins.source(source).record_types]
        except PluginError as error:
            broken.append(
                f"What the source {source!r} would bring is unknown, since it cannot be "
                f"imported: {error.message}. {error.remedy or ''}".strip()
            )
            continue
        for name in declared:
            found.setdefault(name, []).append(source)
    broken += [
        f"The plugin {name!r} cannot be used, so that what it would bring is unknown: "
        f"{problem.cause}. {problem.remedy}"
        for name, problem in plugins.broken.items()
        if name not in plugins.sources
    ]
    return found, broken


def kinds_of(dataset: Dataset, bringers: Mapping[str, Sequence[str]]) -> list[Kind]:
    """All record types that installed sources declare or the dataset holds, by place."""
    known = dataset.plugins.record_types()
    held = {each.record_type: each for each in dataset.holdings()}
    kinds = []
    for name in {*known, *held}:
        kind = Kind(name, known.get(name), tuple(bringers.get(name, ())))
        if (mine := held.get(name)) is not None:
            kind = attrs.evolve(kind, rows=mine.rows, origins=mine.origins, used=mine.sources,
                                first=mine.first, last=mine.last)  # fmt: skip
        kinds.append(kind)
    return sorted(kinds, key=lambda kind: (kind.place, kind.name))
