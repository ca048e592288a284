"""How requests follow each other, what other operations there are, and how files are used."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest_report import Column, Table
from harvest_toolkit.frames import first_text, known_sum, possible, sum_or_none

from ..views.layers import sum_of

UNKNOWN: Final = "not known"
"""The use of files whose reads or writes no log counts."""

LAYERS: Final = ("POSIX", "MPI-IO", "STDIO", "DFS")
COUNTERS: Final = {
    "opens": ("OPENS", "INDEP_OPENS", "COLL_OPENS", "FDOPENS", "GLOBAL_OPENS"),
    "stats": ("STATS",),
    "seeks": ("SEEKS",),
    "flushes": ("FSYNCS", "FDSYNCS", "SYNCS", "FLUSHES"),
    "maps into memory": ("MMAPS",),
    "sequential reads": ("SEQ_READS",),
    "adjacent reads": ("CONSEC_READS",),
    "sequential writes": ("SEQ_WRITES",),
    "adjacent writes": ("CONSEC_WRITES",),
}
"""Kinds of operations, and the counters of any layer that make them up."""


def use_table(files: pl.DataFrame) -> Table:
    """Files that are only read, only written, both, or neither."""
    read, written = pl.col("reads") > 0, pl.col("writes") > 0
    kinds = ("read only", "written only", "read and written", "neither")
    kind = first_text(
        (read.is_null() | written.is_null(), UNKNOWN),
        (read & written, kinds[2]),
        (read, kinds[0]),
        (written, kinds[1]),
        (pl.lit(value=True), kinds[3]),
    )
    spent = sum_of("read_s", "write_s") + pl.col("meta_s").fill_null(0)
    sums = (
        files.with_columns(kind=kind, spent=spent)
        .group_by("kind")
        .agg(
            *(sum_or_none(name).alias(name) for name in ("read_bytes", "write_bytes", "spent")),
            files=pl.len().cast(pl.Int64),
        )
    )
    some = [*kinds, UNKNOWN] if UNKNOWN in sums["kind"] else kinds
    order = pl.DataFrame({"kind": some})
    rows = order.join(sums, on="kind", how="left", maintain_order="left").with_columns(
        # there is no file of the kind
        pl.when(pl.col("files").is_null()).then(0).otherwise(pl.exclude("kind")).name.keep()
    )
    return Table(
        "use",
        rows,
        (
            Column("kind", "files that are"),
            "files",
            Column("read_bytes", "read", "bytes"),
            Column("write_bytes", "written", "bytes"),
            Column("spent", "time", "s", ",.3f"),
        ),
        title="Use of files",
        note="Neither: files that were opened, asked about or mapped alone.",
    )


def order_table(dataset: DatasetReader) -> Table:
    """How many reads and writes follow each other, and how many other operations there are."""
    layers = {layer: _counts(dataset, layer) for layer in LAYERS}
    used = {layer: counts for layer, counts in layers.items() if counts is not None}
    rows = pl.DataFrame(
        {"operation": list(COUNTERS), **used},
        schema={"operation": pl.String, **dict.fromkeys(used, pl.Int64)},
    )
    return Table(
        "operations",
        rows,
        ("operation", *(Column(layer) for layer in used)),
        title="Operations and their order",
        note="Sequential: at a higher offset than the one before of the same process and file; "
        "adjacent: exactly where it ended. No value: not counted by this layer or this log.",
    )


def _counts(dataset: DatasetReader, layer: str) -> list[int | None] | None:
    """Sums of a layer's counters in the order of COUNTERS; None where it has no record."""
    prefix = layer.replace("-", "")
    frame = dataset[f"darshan.{prefix.lower()}"]
    known = frame.collect_schema()

    def total(names: tuple[str, ...]) -> pl.Expr:
        columns = [f"{prefix}_{name}" for name in names if f"{prefix}_{name}" in known]
        # a counter that Darshan did not watch is -1
        watched = [known_sum(possible(column)) for column in columns]
        if not watched:
            return pl.lit(None, pl.Int64)
        some = pl.any_horizontal(value.is_not_null() for value in watched)
        return pl.when(some).then(pl.sum_horizontal(watched)).cast(pl.Int64, strict=False)

    sums = frame.select(
        records=pl.len(),
        **{operation: total(names) for operation, names in COUNTERS.items()},
    ).collect(engine="streaming")
    found = sums.row(0, named=True)
    return [found[operation] for operation in COUNTERS] if found["records"] else None
