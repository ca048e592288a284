"""The table of scans that were lost, failed or have gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words
from harvest_report import Column, Table

from .study import Study

SHOWN: Final = 40
"""Lines of the table; the view lists all."""

_FATES: Final = {"lost": "lost", "failed": "failed", "gapped": "with gaps"}
_SAME: Final = ("fate", "method", "size", "problem")


def failed_table(dataset: DatasetReader, study: Study) -> Iterator[Table]:
    """The scans that were lost, failed or have gaps, where there are some."""
    if "ncem.receiver_status" not in dataset or "ncem.data_file" not in dataset:
        return
    found = dataset.view("ncem.failed_scans", study=study).collect()
    if found.is_empty():
        return
    lines = together(found)
    left = lines.height - SHOWN
    counts = dict(found.group_by("fate").agg(pl.col("numbers").sum()).iter_rows())
    said = ", ".join(
        f"{counts[fate]:,} {words}" for fate, words in _FATES.items() if fate in counts
    )
    yield Table(
        "failed-scans",
        lines.head(SHOWN),
        (
            *("fate", "scans"),
            Column("n", doc="how many"),
            *("method", "size", "problem"),
            Column("begin", "begin", None, "%Y-%m-%d %H:%M:%S", doc="first receiver time"),
        ),
        title="Scans that were lost, failed or have gaps",
        group="fate",
        note=f"{count_in_words(sum(counts.values()), 'scan')}: {said}; those in a row with the "
        "same problem are one line. The view ncem.failed_scans lists each"
        + (f"; {count_in_words(left, 'line')} more are not shown." if left > 0 else "."),
    )


def together(found: pl.DataFrame) -> pl.DataFrame:
    """Scans whose numbers follow each other and whose problems are the same, in one row."""
    number, end = pl.col("scan_number"), pl.col("scan_number") + pl.col("numbers")
    follows = pl.all_horizontal(
        number == end.shift(1), *(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in _SAME)
    )
    ranks = {fate: rank for rank, fate in enumerate(_FATES)}
    first, last = number.first(), end.last() - 1
    return (
        found.with_columns(group=(~follows.fill_null(value=False)).cum_sum())
        .group_by("group", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in _SAME),
            first=first,
            scans=pl.when(first == last)
            .then(first.cast(pl.String))
            .otherwise(pl.format("{} to {}", first, last)),
            n=pl.col("numbers").sum(),
            begin=pl.col("first_receiver_time").min(),
        )
        .sort(pl.col("fate").replace_strict(ranks, return_dtype=pl.Int64), "first")
    )
