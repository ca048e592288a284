"""The report ``run.map``: what was harvested of a run's life, from where, and what is missing.

Each record type declares its place: a layer (job, workflow, system) and a level (job, config,
client, scheduler, worker, process, thread, coroutine). For each place, the map counts the records
of the dataset, and the record types that installed sources declare.
The steps of a run's life follow from the place (see ``run_map_kinds``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import polars as pl

from harvest.model import LAYERS, LEVELS
from harvest.toolkit.amounts import count_in_words
from harvest_report import Column, Notes, Report, Table, Tile

from .run_map_kinds import STEPS, Kind, bringers_of, kinds_of
from .run_map_plot import map_plot

if TYPE_CHECKING:
    from harvest import Dataset


def run_map(dataset: Dataset) -> Report:
    """Build the report ``run.map`` of a dataset."""
    bringers, broken = bringers_of(dataset)
    kinds = kinds_of(dataset, bringers)
    held = [kind for kind in kinds if kind.rows]
    missing = [kind for kind in kinds if not kind.rows]
    accounts = dataset.accounts()
    read = set(accounts["source"].unique())
    return Report(
        "The metadata map",
        intro=_intro(held, missing),
        tiles=_tiles(accounts, held),
        sections=[
            map_plot(_cells(kinds), STEPS),
            _places(kinds),
            _steps(kinds),
            _held_types(held),
            _missing(missing, read),
            _sources(accounts),
            _notes(kinds, broken),
        ],
    )


def _cells(kinds: Sequence[Kind]) -> dict[tuple[str, str | int], tuple[int, int, int]]:
    """Return (level, layer or step) -> rows, record types in the dataset, record types known."""
    cells: dict[tuple[str, str | int], tuple[int, int, int]] = {}
    for kind in kinds:
        if kind.known is None:
            continue
        for column in (kind.known.layer, *kind.steps):
            rows, held, known = cells.get((kind.known.level, column), (0, 0, 0))
            counted = (rows + kind.rows, held + bool(kind.rows), known + 1)
            cells[kind.known.level, column] = counted
    return cells


def _tiles(accounts: pl.DataFrame, held: Sequence[Kind]) -> list[Tile]:
    places = {kind.place for kind in held if kind.known}
    origins = accounts.filter(pl.col("written") > 0)["origin"].n_unique()
    covered = {step for kind in held for step in kind.steps}
    return [
        Tile("records", f"{sum(kind.rows for kind in held):,}", f"of {len(held):,} record types"),
        Tile("inputs with records", f"{origins:,}"),
        Tile("places of the map", f"{len(places)}", f"of {len(LAYERS) * len(LEVELS)}"),
        Tile("steps of the run's life", f"{len(covered & STEPS.keys())}", f"of {len(STEPS)}"),
    ]


def _intro(held: Sequence[Kind], missing: Sequence[Kind]) -> list[str]:
    covered = {step for kind in held for step in kind.steps}
    absent = [f"{number} ({name})" for number, name in STEPS.items() if number not in covered]
    said = []
    if absent:
        said.append(f"Nothing was harvested for {_plural(len(absent), 'step')} {_list(absent)}.")
    if missing:
        sources = ", ".join(sorted({source for kind in missing for source in kind.bringers}))
        said.append(
            f"Installed sources declare {count_in_words(len(missing), 'type')} that the dataset "
            f"lacks (sources: {sources}). The table of missing types says what to do about each."
        )
    return said


def _places(kinds: Sequence[Kind]) -> Table:
    rows = []
    for place in sorted({kind.place for kind in kinds}):
        here = [kind for kind in kinds if kind.place == place]
        held = [kind for kind in here if kind.rows]
        gone = [kind for kind in here if not kind.rows]
        rows.append(
            {
                "layer": here[0].layer,
                "level": here[0].level,
                "steps": _span(here[0].steps),
                "records": sum(kind.rows for kind in held),
                "harvested": ", ".join(f"{kind.name} ({kind.rows:,})" for kind in held) or None,
                "sources": ", ".join(sorted({s for kind in held for s in kind.used})) or None,
                "missing": _names_by_source(gone) or None,
            }
        )
    return _table(
        "places",
        "Layers and levels",
        rows,
        (
            *("layer", "level"),
            Column("steps", doc="of the run's life that the place covers"),
            "records",
            Column("harvested", doc="record types, with their records"),
            Column("sources", "from", doc="sources that brought them"),
            Column("missing", doc="record types without records, by the source that brings them"),
        ),
        group="layer",
    )


def _names_by_source(gone: Sequence[Kind]) -> str:
    """List types by source: ``darshan: darshan.h5d, darshan.h5f; slurm: slurm.job``."""
    by_source: dict[str, list[str]] = {}
    for kind in gone:
        by_source.setdefault(" or ".join(kind.bringers), []).append(kind.name)
    return "; ".join(f"{source}: {', '.join(names)}" for source, names in by_source.items())


def _steps(kinds: Sequence[Kind]) -> Table:
    rows = []
    for number, name in STEPS.items():
        here = [kind for kind in kinds if number in kind.steps]
        held = [kind for kind in here if kind.rows]
        times = [t for kind in held for t in (kind.first, kind.last) if t is not None]
        rows.append(
            {
                "step": number,
                "name": name,
                "types": len(held),
                "known": len(here),
                "records": sum(kind.rows for kind in held),
                "sources": ", ".join(sorted({s for kind in held for s in kind.used})) or None,
                "first_time": min(times, default=None),
                "last_time": max(times, default=None),
            }
        )
    return _table(
        "steps",
        "Steps of the run's life",
        rows,
        (
            "step",
            Column("name", ""),
            Column("types", "types held", doc="record types of the step with records"),
            Column("known", "types known", doc="record types that installed sources declare"),
            "records",
            Column("sources", "from"),
            Column("first_time", "first time"),
            Column("last_time", "last time"),
        ),
        note="Client, scheduler and workers cover steps 3 and 4: their records count in both.",
    )


def _place(kind: Kind) -> dict[str, str | None]:
    return {"record_type": kind.name, "layer": kind.layer, "level": kind.level}


def _held_types(held: Sequence[Kind]) -> Table:
    rows = [
        {
            **_place(kind),
            "records": kind.rows,
            "sources": ", ".join(kind.used) or None,
            "origins": kind.origins,
            "first_time": kind.first,
            "last_time": kind.last,
        }
        for kind in held
    ]
    return _table(
        "harvested",
        "What was harvested",
        rows,
        (
            Column("record_type", "record type"),
            *("layer", "level", "records"),
            Column("sources", "from"),
            Column("origins", doc="inputs (files, mostly) that held such records"),
            Column("first_time", "first time"),
            Column("last_time", "last time", doc="times are UTC; – where the type has none"),
        ),
        group="layer",
    )


def _missing(missing: Sequence[Kind], read: set[str]) -> Table:
    rows = []
    for kind in missing:
        tried = [source for source in kind.bringers if source in read]
        if tried:
            todo = f"none in what {' and '.join(tried)} read"
        else:
            todo = " or ".join(f"--source {source}:LOCATION" for source in kind.bringers)
        rows.append(
            {
                **_place(kind),
                "source": " or ".join(kind.bringers),
                "todo": todo,
                "what": kind.known.doc.partition("\n")[0].replace("``", "") if kind.known else None,
            }
        )
    # types of sources not yet used come first: the user can add such a source
    rows.sort(key=lambda row: not str(row["todo"]).startswith("--"))
    return _table(
        "missing",
        "What is missing, and what would bring it",
        rows,
        (
            Column("record_type", "record type"),
            *("layer", "level"),
            Column("source", "brought by"),
            Column(
                "todo",
                "to have it",
                doc="what to add to harvest run; a source that was used and found none of a type "
                "needs other input, since the run did not record it",
            ),
            Column("what", "what it is"),
        ),
        group="source",
    )


def _sources(accounts: pl.DataFrame) -> Table:
    rows = [
        {
            "source": source,
            "place": _common(mine["origin"]),
            "partitions": mine.height,
            "records": mine["written"].sum(),
            "rejected": mine["rejected"].sum(),
            "failed": mine["failed"].sum(),
            "plugin": ", ".join(mine["plugin"].unique().sort()),
        }
        for (source,), mine in sorted(accounts.partition_by("source", as_dict=True).items())
    ]
    return _table(
        "sources",
        "Where it was harvested from",
        rows,
        (
            *("source", "partitions", "records"),
            Column("rejected", doc="units of input that could not be read: harvest rejects"),
            Column("failed", doc="partitions that could not be read at all"),
            Column("place", "read from", format="path", doc=_COMMON),
            "plugin",
        ),
    )


def _notes(kinds: Sequence[Kind], broken: Sequence[str]) -> Notes:
    stray = [kind.name for kind in kinds if kind.known is None]
    bare = [level for level in LEVELS if not any(kind.level == level for kind in kinds)]
    items = [
        "A record type states its layer and level itself. Its steps follow from these: level job "
        "covers step 1, config 2, client, scheduler and worker 3 and 4; process, thread "
        "and coroutine 4, and 5 in the layer system.",
        "A place without known types is one for which no installed source declares any.",
        *broken,
    ]
    if bare:
        items.append(f"No installed source declares types of {_plural(len(bare), 'level')} "
                     f"{_list(list(bare))}.")  # fmt: skip
    if stray:
        items.append(
            f"No installed plugin declares {_list(stray)}, which the dataset holds: its place is "
            "unknown. Install the plugin that wrote it."
        )
    return Notes("notes", items, title="How to read the map")


_COMMON = "the directory that holds all of its inputs"
_TIMES = ("first_time", "last_time")
_NUMBERS = (
    *("failed", "known", "origins", "partitions"),
    *("records", "rejected", "step", "types"),
)


def _table(
    name: str,
    title: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column | str],
    **more: Any,
) -> Table:
    """Make a table; the names of columns decide between numbers, times and texts."""
    declared = tuple(Column(each) if isinstance(each, str) else each for each in columns)
    kinds: dict[str, Any] = dict.fromkeys((column.name for column in declared), pl.String)
    kinds |= dict.fromkeys(kinds.keys() & set(_NUMBERS), pl.Int64)
    kinds |= dict.fromkeys(kinds.keys() & set(_TIMES), pl.Datetime("us", "UTC"))
    return Table(name, pl.DataFrame(list(rows), schema=kinds), declared, title=title, **more)


def _common(origins: pl.Series) -> str:
    """Return the deepest directory that contains all origins, or a single origin itself."""
    # a prefix of both the smallest and the largest string is a prefix of all others
    ends = origins + "/"
    first, last = (str(end).removesuffix("/") for end in (ends.min(), ends.max()))
    if first == last:
        return first
    pairs = zip(first.split("/"), last.split("/"), strict=False)
    shared = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return "/".join(shared) or f"{origins.n_unique():,} places"


def _span(steps: Sequence[int]) -> str | None:
    if not steps:
        return None
    return str(steps[0]) if len(steps) == 1 else f"{steps[0]}–{steps[-1]}"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _list(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)
