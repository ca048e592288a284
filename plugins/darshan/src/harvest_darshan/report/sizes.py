"""How large requests are: a table and bars."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest_report import Notes, Plot, Section, Table, legend
from harvest_toolkit.frames import sum_or_none

from ..views.files import BINS, counter_rows, traced_files

LABELS: Final = (
    *("to 100 B", "to 1 KiB", "to 10 KiB", "to 100 KiB", "to 1 MiB"),
    *("to 4 MiB", "to 10 MiB", "to 100 MiB", "to 1 GiB", "more"),
)
"""Of Darshan's bins."""

OPS: Final = ("reads", "writes")


def sizes_sections(dataset: DatasetReader) -> list[Section]:
    """Requests by size, as POSIX counts them, else MPI-IO, else the trace."""
    traced = traced_files(dataset, None)
    counted = counter_rows(dataset, None, traced.clear()).filter(pl.col("module") != "STDIO")
    rows = counted if counted.height else traced
    sums = rows.group_by("op").agg(
        # a number of requests that 64 bits do not hold is not known
        sum_or_none(name).cast(pl.Int64, strict=False).alias(name)
        for name in BINS
    )
    by_op = {row["op"]: row for row in sums.iter_rows(named=True)}
    table = pl.DataFrame(
        {
            "size": LABELS,
            **{op: [by_op.get(op[:-1], {}).get(name, 0) for name in BINS] for op in OPS},
        },
        schema_overrides=dict.fromkeys(OPS, pl.Int64),
    )
    totals = {op: int(table[op].sum()) for op in OPS}
    if not any(totals.values()):
        text = "No request has a size: buffered I/O (STDIO) is not counted by size."
        return [Notes("sizes", [text], title="Sizes of requests")]
    said = " and ".join(f"{totals[op]:,} {op}" for op in OPS)
    modules = " and ".join(sorted(counted["module"].unique()))
    source = f"as counted by {modules}, each once" if modules else "as traced"
    return [
        _plot(table, said),
        Table(
            "sizes",
            table,
            ("size", "reads", "writes"),
            title="Sizes of requests",
            note=f"{said}, {source}; buffered I/O (STDIO) is not counted by size. A size belongs "
            "to the row that it is the limit of: 1 MiB to the one to 1 MiB.",
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
        # a linear scale from 0 to 1, then by powers of ten: bars of one request are to be seen
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, highest * 30)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylabel("requests")
        axes.grid(visible=False, axis="x")
        legend(figure)

    most = max(((op, row) for op in OPS for row in range(len(labels))),
               key=lambda place: table[place[0]][place[1]] or 0)  # fmt: skip
    return Plot(
        "sizes-plot",
        draw,
        "Requests by size",
        f"Bars on a logarithmic scale: {said} by size; the most are {most[0]} of a size "
        f"{labels[most[1]]}.",
        size=(7.5, 3.4),
    )
