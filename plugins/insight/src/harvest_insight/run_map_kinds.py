"""Record types in the metadata map: their place, their steps, and their rows in the dataset.

A run's life has five steps. A record type's place decides which steps it covers (``steps_of``):

1. job start: the batch system's requests and allocations, the nodes, the mounted file systems;
2. configuration: settings and software;
3. set-up: client, scheduler and workers start and connect;
4. execution: tasks are scheduled and run, data moves, code is profiled;
5. I/O and end: file operations of processes and threads, which the system reports when they end.

Client, scheduler and workers report set-up and execution together. Their types count in both.
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
    """Return the steps of a run's life that record types of a layer and level cover."""
    if level == "job":
        return (1,)
    if level == "config":
        return (2,)
    if level in ("client", "scheduler", "worker"):
        return (3, 4)
    return (5,) if layer == "system" else (4,)


@attrs.frozen
class Kind:
    """A record type in the map, with its number of rows, number of origins, first and last time.

    known: its declaration; None if no installed plugin declares it.
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
        """Layer in the map; None if the type is not declared."""
        return self.known.layer if self.known else None

    @property
    def level(self) -> str | None:
        """Level in the map; None if the type is not declared."""
        return self.known.level if self.known else None

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps of a run's life that the type covers."""
        return steps_of(self.known.layer, self.known.level) if self.known else ()

    @property
    def place(self) -> tuple[int, int]:
        """Sort key: positions of layer and level; types that are not declared come last."""
        if self.known is None:
            return (len(LAYERS), len(LEVELS))
        return (LAYERS.index(self.known.layer), LEVELS.index(self.known.level))


def bringers_of(dataset: Dataset) -> tuple[dict[str, list[str]], list[str]]:
    """Return record type -> sources that declare it, and a sentence for each broken plugin."""
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
    """Return all record types that plugins declare or the dataset holds, sorted by place."""
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
