"""The report ``run.map``: what was harvested of a run's life, from where, and what is missing.

Each record type declares its place: a layer (job, workflow, system) and a level (job, config,
client, scheduler, worker, process, thread, coroutine). For each place, the map counts the records
of the dataset, and the record types that installed sources declare.
The steps of a run's life follow from the place (see ``run_map_kinds``).
"""

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Final

import polars as pl

from harvest import Dataset
from harvest.model import LAYERS, LEVELS
from harvest.toolkit.amounts import count_in_words
from harvest_report import Column, Notes, Report, Table, Tile

from .run_map_kinds import STEPS, bringers_of, kinds_of
from .run_map_plot import map_plot


def run_map(dataset: Dataset) -> Report:
    """Build the report ``run.map`` of a dataset."""
    bringers, broken = bringers_of(dataset)
    accounts = dataset.accounts()
    kinds = kinds_of(dataset, bringers, set(accounts["source"]))
    held, missing = kinds.filter(_HELD), kinds.filter(~_HELD)
    covered = set(held["steps"].explode().drop_nulls())
    return Report(
        "The metadata map",
        intro=_intro(covered, missing),
        tiles=_tiles(accounts, held, covered),
        sections=[
            map_plot(_cells(kinds), STEPS),
            _places(kinds, missing),
            _steps(kinds),
            _held_types(held),
            _missing(missing),
            _sources(accounts),
            _notes(kinds, broken),
        ],
    )


_HELD: Final = pl.col("records") > 0


def _cells(kinds: pl.DataFrame) -> dict[tuple[str, str | int], tuple[int, int, int]]:
    """Return (level, layer or step) -> rows, record types in the dataset, record types known."""
    cells: dict[tuple[str, str | int], tuple[int, int, int]] = {}
    placed = kinds.drop_nulls("place").select("level", "layer", "steps", "records")
    for level, layer, steps, records in placed.iter_rows():
        for column in (layer, *steps):
            rows, held, known = cells.get((level, column), (0, 0, 0))
            cells[level, column] = (rows + records, held + bool(records), known + 1)
    return cells


def _tiles(accounts: pl.DataFrame, held: pl.DataFrame, covered: Collection[int]) -> list[Tile]:
    places = held["place"].drop_nulls().n_unique()
    origins = accounts.filter(pl.col("written") > 0)["origin"].n_unique()
    return [
        Tile("records", f"{held['records'].sum():,}", count_in_words(held.height, "record type")),
        Tile("inputs with records", f"{origins:,}"),
        Tile("places of the map", f"{places}", f"of {len(LAYERS) * len(LEVELS)}"),
        Tile("steps of the run's life", f"{len(covered)}", f"of {len(STEPS)}"),
    ]


def _intro(covered: Collection[int], missing: pl.DataFrame) -> list[str]:
    absent = [f"{number} ({name})" for number, name in STEPS.items() if number not in covered]
    said = []
    if absent:
        said.append(f"Nothing was harvested for {_plural(len(absent), 'step')} {_list(absent)}.")
    if not missing.is_empty():
        sources = ", ".join(missing["bringers"].explode().drop_nulls().unique().sort())
        said.append(
            f"Installed sources declare {count_in_words(missing.height, 'type')} that the dataset "
            f"lacks (sources: {sources}). The table of missing types says what to do about each."
        )
    return said


def _places(kinds: pl.DataFrame, missing: pl.DataFrame) -> Table:
    counts = [f"{name} ({rows:,})" for name, rows in kinds.select("record_type", "records").rows()]
    by_source = missing.group_by("place", _BRINGERS, maintain_order=True).agg(
        types=pl.col("record_type").str.join(", ")
    )
    lacking = by_source.group_by("place").agg(
        missing=pl.format("{}: {}", "source", "types").str.join("; ")
    )
    rows = (
        kinds.with_columns(counts=pl.Series(counts, dtype=pl.String))
        .group_by("place", "layer", "level", maintain_order=True)
        .agg(
            steps=pl.col("steps").first(),
            records=pl.col("records").sum(),
            harvested=_joined(pl.col("counts").filter(_HELD)),
            sources=_SOURCES,
        )
        .join(lacking, on="place", how="left", maintain_order="left")
    )
    return Table(
        "places",
        rows.with_columns(steps=pl.Series([*map(_span, rows["steps"])], dtype=pl.String)),
        (
            *("layer", "level"),
            Column("steps", doc="of the run's life that the place covers"),
            "records",
            Column("harvested", doc="record types, with their records"),
            Column("sources", "from", doc="sources that brought them"),
            Column("missing", doc="record types without records, by the source that brings them"),
        ),
        title="Layers and levels",
        group="layer",
    )


def _joined(texts: pl.Expr) -> pl.Expr:
    """Join texts of a group with commas; null for none."""
    return pl.when(texts.len() > 0).then(texts.str.join(", "))


_BRINGERS: Final = pl.col("bringers").list.join(" or ").alias("source")
_SOURCES: Final = _joined(pl.col("sources").explode().drop_nulls().unique().sort())


def _steps(kinds: pl.DataFrame) -> Table:
    found = (
        kinds.explode("steps")
        .group_by(step="steps")
        .agg(
            types=_HELD.sum(),
            known=pl.len(),
            records=pl.col("records").sum(),
            sources=_SOURCES,
            first_time=pl.col("first_time").min(),
            last_time=pl.col("last_time").max(),
        )
    )
    every = pl.DataFrame({"step": list(STEPS), "name": list(STEPS.values())})
    return Table(
        "steps",
        every.join(found, on="step", how="left", maintain_order="left").with_columns(
            pl.col("types", "known", "records").fill_null(0).cast(pl.Int64)
        ),
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
        title="Steps of the run's life",
        note="Client, scheduler and workers cover steps 3 and 4: their records count in both.",
    )


def _held_types(held: pl.DataFrame) -> Table:
    return Table(
        "harvested",
        held.with_columns(pl.col("sources").list.join(", ")),
        (
            Column("record_type", "record type"),
            *("layer", "level", "records"),
            Column("sources", "from"),
            Column("origins", doc="inputs (files, mostly) that held such records"),
            Column("first_time", "first time"),
            Column("last_time", "last time", doc="times are UTC; – where the type has none"),
        ),
        title="What was harvested",
        group="layer",
    )


def _missing(missing: pl.DataFrame) -> Table:
    # types of sources not yet used come first: the user can add such a source
    tried = ~pl.col("todo").str.starts_with("--")
    return Table(
        "missing",
        missing.sort(tried, maintain_order=True).with_columns(_BRINGERS),
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
        title="What is missing, and what would bring it",
        group="source",
    )


def _sources(accounts: pl.DataFrame) -> Table:
    # a prefix of both the smallest and the largest text is a prefix of all others
    ended = pl.col("origin") + "/"
    rows = accounts.group_by("source").agg(
        pl.len().cast(pl.Int64).alias("partitions"),
        pl.col("written").sum().alias("records"),
        pl.col("rejected", "failed").sum().cast(pl.Int64),
        pl.col("plugin").unique().sort().str.join(", "),
        first=ended.min(),
        last=ended.max(),
        origins=pl.col("origin").n_unique(),
    )
    ends = rows.select("first", "last", "origins").rows()
    places = pl.Series([_common(*each) for each in ends], dtype=pl.String)
    return Table(
        "sources",
        rows.with_columns(place=places).sort("source"),
        (
            *("source", "partitions", "records"),
            Column("rejected", doc="units of input that could not be read: harvest rejects"),
            Column("failed", doc="partitions that could not be read at all"),
            Column("place", "read from", format="path", doc=_COMMON),
            "plugin",
        ),
        title="Where it was harvested from",
    )


_COMMON: Final = "the directory that holds all of its inputs"


def _common(first: str, last: str, origins: int) -> str:
    """Return the deepest directory that contains all origins, or a single origin itself.

    first, last: the smallest and the largest origin, with a slash at the end of each.
    """
    pairs = zip(first.split("/")[:-1], last.split("/")[:-1], strict=False)
    shared = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return "/".join(shared) or f"{origins:,} places"


def _notes(kinds: pl.DataFrame, broken: Sequence[str]) -> Notes:
    stray = kinds.filter(pl.col("place").is_null())["record_type"].to_list()
    bare = [level for level in LEVELS if level not in set(kinds["level"])]
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


def _span(steps: Sequence[int] | None) -> str | None:
    if steps is None:
        return None
    return str(steps[0]) if len(steps) == 1 else f"{steps[0]}–{steps[-1]}"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _list(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)
