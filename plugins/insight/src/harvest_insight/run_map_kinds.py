"""Record types in the metadata map: their place, their steps, and their rows in the dataset.

A run's life has five steps. A record type's place decides which steps it covers (``steps_of``):

1. job start: the batch system's requests and allocations, the nodes, the mounted file systems;
2. configuration: settings and software;
3. set-up: client, scheduler and workers start and connect;
4. execution: tasks are scheduled and run, data moves, code is profiled;
5. I/O and end: file operations of processes and threads, which the system reports when they end.

Client, scheduler and workers report set-up and execution together. Their types count in both.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import polars as pl

from harvest import Dataset, PluginError, record_type
from harvest.model import LAYERS, LEVELS

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


_KINDS: Final = {
    **dict.fromkeys(("record_type", "layer", "level", "what", "todo"), pl.String()),
    **dict.fromkeys(("place", "records", "origins"), pl.Int64()),
    "steps": pl.List(pl.Int64),
    **dict.fromkeys(("bringers", "sources"), pl.List(pl.String)),
    **dict.fromkeys(("first_time", "last_time"), pl.Datetime("us", "UTC")),
}


def kinds_of(
    dataset: Dataset, bringers: Mapping[str, Sequence[str]], read: Collection[str]
) -> pl.DataFrame:
    """Return all record types that plugins declare or the dataset holds, sorted by place and name.

    bringers: sources that declare each type; read: sources that the dataset was read from.
    The columns:
    layer, level, place, steps, what: place in the map, the steps it covers, and description; null,
        and last, if no installed plugin declares the type.
    bringers: installed sources that declare it; todo: how to have its records.
    records, origins, first_time, last_time: of its rows; sources: whose partitions hold them.
    """
    known = dataset.plugins.record_types()
    held = {each.record_type: each for each in dataset.holdings()}
    rows = []
    for name in sorted({*known, *held}):
        brought = list(bringers.get(name, ()))
        row: dict[str, Any] = {"record_type": name, "bringers": brought}
        row["todo"] = _todo(brought, read)
        if (kind := known.get(name)) is not None:
            row |= {"layer": kind.layer, "level": kind.level}
            row["place"] = LAYERS.index(kind.layer) * len(LEVELS) + LEVELS.index(kind.level)
            row["steps"] = steps_of(kind.layer, kind.level)
            row["what"] = kind.doc.partition("\n")[0].replace("``", "")
        if (mine := held.get(name)) is not None:
            row |= {"records": mine.rows, "origins": mine.origins, "sources": mine.sources}
            row |= {"first_time": mine.first, "last_time": mine.last}
        rows.append(row)
    found = pl.DataFrame(rows, schema=_KINDS).with_columns(pl.col("records").fill_null(0))
    return found.sort("place", nulls_last=True, maintain_order=True)


def _todo(bringers: Sequence[str], read: Collection[str]) -> str:
    """Describe how to have records of a type, which installed sources bring."""
    if tried := [source for source in bringers if source in read]:
        return f"none in what {' and '.join(tried)} read"
    return " or ".join(f"--source {source}:LOCATION" for source in bringers)
