"""Build the sections on the sizes and order of requests, and on the use of files."""

from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest_report import Column, Notes, Plot, Section, Table, legend
from harvest_toolkit.frames import first_text, known_sum, possible, sum_or_none

from ..counters import SIZES
from ..views.files import counter_rows, traced_files
from ..views.layers import LAYERS, Layer, sum_of, summed

LABELS: Final = (
    *("to 100 B", "to 1 KiB", "to 10 KiB", "to 100 KiB", "to 1 MiB"),
    *("to 4 MiB", "to 10 MiB", "to 100 MiB", "to 1 GiB", "more"),
)
"""Labels of Darshan's size bins."""

OPS: Final = ("reads", "writes")


def sizes_sections(dataset: DatasetReader) -> list[Section]:
    """Show requests by size, as the counters have them, else the trace."""
    counted = counter_rows(dataset).filter(pl.col("module") != "STDIO")
    rows = counted if counted.height else traced_files(dataset)
    # a number beyond 64 bits is unknown
    sums = [sum_or_none(name).cast(pl.Int64, strict=False).alias(name) for name in SIZES]
    counts = {op: rows.filter(op=op[:-1]).select(sums).row(0) for op in OPS}
    table = pl.DataFrame({"size": LABELS, **counts}, schema_overrides=dict.fromkeys(OPS, pl.Int64))
    totals = {op: int(table[op].sum()) for op in OPS}
    if not any(totals.values()):
        text = "No request has a size. Darshan does not count buffered I/O (STDIO) by size."
        return [Notes("sizes", [text], title="Request sizes")]
    said = " and ".join(f"{totals[op]:,} {op}" for op in OPS)
    modules = " and ".join(sorted(counted["module"].unique()))
    source = f"counted by {modules}, each once" if modules else "as traced"
    return [
        _plot(table, said),
        Table(
            "sizes",
            table,
            ("size", "reads", "writes"),
            title="Request sizes",
            note=f"{said}, {source}; without buffered I/O (STDIO). Each row includes its limit: "
            "1 MiB is in the row to 1 MiB.",
        ),
    ]


def _plot(table: pl.DataFrame, said: str) -> Plot:
    labels = table["size"].to_list()
    highest = max(int(table[op].max() or 0) for op in OPS)  # type: ignore[arg-type]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, op in enumerate(OPS):
            places = [place + (number - 0.5) * 0.4 for place in range(len(labels))]
            bars = axes.bar(
                places, table[op].fill_null(0).to_list(), width=0.37, color=f"C{number}", label=op
            )
            counts = [f"{count:,}" if count else "" for count in table[op].to_list()]
            axes.bar_label(bars, counts, fontsize=6.5, padding=1.5, rotation=90)
        axes.set_xticks(range(len(labels)), [label.replace(" ", "\n", 1) for label in labels])
        axes.tick_params(axis="x", length=0, labelsize=7.5)
        # linear from 0 to 1, then logarithmic, so that one request is visible
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, highest * 30)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylabel("requests")
        axes.grid(visible=False, axis="x")
        legend(figure)

    cells = table.unpivot(index="size", variable_name="op").fill_null(0)
    most = cells.row(cells["value"].arg_max() or 0, named=True)
    return Plot(
        "sizes-plot",
        draw,
        "Requests by size",
        f"{said} by size, on a logarithmic scale. Most are {most['op']} of a size {most['size']}.",
        size=(7.5, 3.4),
    )


UNKNOWN: Final = "unknown"
"""Kind of files whose reads or writes are not recorded."""

USED: Final = ("posix", "mpiio", "stdio", "dfs")
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
"""Counters of all layers whose sum is the number of operations of a kind."""


def use_table(files: pl.DataFrame) -> Table:
    """Show files by use: only read, only written, both, or neither."""
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
    rows = pl.concat(
        files.filter(kind == name).select(
            summed(spent).alias("spent"),
            *(sum_or_none(column).alias(column) for column in ("read_bytes", "write_bytes")),
            kind=pl.lit(name),
            files=pl.len().cast(pl.Int64),
        )
        for name in (*kinds, UNKNOWN)
    )
    return Table(
        "use",
        rows.filter((pl.col("files") > 0) | (pl.col("kind") != UNKNOWN)),
        (
            Column("kind", "use"),
            "files",
            Column("read_bytes", "read", "bytes"),
            Column("write_bytes", "written", "bytes"),
            Column("spent", "time", "s", ",.3f"),
        ),
        title="File use",
        note="Neither: files that were only opened, stated or mapped.",
    )


def order_table(dataset: DatasetReader) -> Table:
    """Show the number of reads and writes in order, and of other operations."""
    found = {LAYERS[name].module: _counts(dataset, LAYERS[name]) for name in USED}
    used = {module: counts for module, counts in found.items() if counts is not None}
    rows = pl.DataFrame(
        {"operation": list(COUNTERS), **used},
        schema={"operation": pl.String, **dict.fromkeys(used, pl.Int64)},
    )
    return Table(
        "operations",
        rows,
        ("operation", *map(Column, used)),
        title="Operations and their order",
        note="Sequential: at a higher offset than the last one of the same process and file. "
        "Adjacent: exactly where it ended. No value: not recorded.",
    )


def _counts(dataset: DatasetReader, layer: Layer) -> list[int | None] | None:
    """Sum a layer's counters, in the order of COUNTERS; None if it has no record."""
    frame = dataset[layer.record_type]
    known = frame.collect_schema()

    def total(names: tuple[str, ...]) -> pl.Expr:
        columns = [f"{layer.prefix}_{name}" for name in names]
        # Darshan sets a counter to -1 if it did not record it
        watched = [known_sum(possible(column)) for column in columns if column in known]
        if not watched:
            return pl.lit(None, pl.Int64)
        some = pl.any_horizontal(value.is_not_null() for value in watched)
        return pl.when(some).then(pl.sum_horizontal(watched)).cast(pl.Int64, strict=False)

    sums = frame.select(
        records=pl.len(), **{operation: total(names) for operation, names in COUNTERS.items()}
    ).collect(engine="streaming")
    found = sums.row(0, named=True)
    return [found[operation] for operation in COUNTERS] if found["records"] else None
