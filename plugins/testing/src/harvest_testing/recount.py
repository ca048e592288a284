"""An independent recount of what a view counts and sums up: SQL over its record types.

Where a view loses rows whose key is null, or a join multiplies what it sums up, its numbers differ
from those of the rows themselves; they do so where the sample is altered for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from harvest import Dataset

from .datasets import AlteredDataset


def asked(dataset: Dataset, counted: str) -> Any:
    """Rows of a record type, or the sum of its column, by SQL.

    counted: ``planted.event``, ``planted.flow.size_bytes``; with a condition in SQL,
        ``planted.event WHERE level = 'error'``.
    """
    target, _, condition = counted.partition(" WHERE ")
    name, column = target.strip(), ""
    if name not in dataset.plugins.record_types():
        name, _, column = name.rpartition(".")
    what = f'SUM("{column}")' if column else "COUNT(*)"
    where = f" WHERE {condition}" if condition else ""
    return dataset[name].sql(f"SELECT {what} AS n FROM self{where}").collect()["n"].item() or 0


def copies(dataset: Dataset, times: int) -> Dataset:
    """So many datasets as one, with the same numbers and times, and texts of their own."""
    return AlteredDataset(dataset, partial(_copied, times))


def _copied(times: int, frame: pl.LazyFrame) -> pl.LazyFrame:
    texts = [n for n, kind in frame.collect_schema().items() if kind in (pl.String, pl.Categorical)]
    number = pl.LazyFrame({"copy of": range(times)})
    suffix = pl.when(pl.col("copy of") > 0).then("~" + pl.col("copy of").cast(pl.String))
    own = (pl.col(n).cast(pl.String) + suffix.otherwise(pl.lit("")) for n in texts)
    return frame.join(number, how="cross").with_columns(own).drop("copy of")


def altered(
    dataset: Dataset, requires: tuple[str, ...], spared: Mapping[str, str]
) -> Iterator[tuple[str, Dataset]]:
    """The dataset with a column null in every other row, or with one record type's rows twice."""
    kinds = dataset.plugins.record_types()
    for name in requires:
        for column in kinds[name].columns:
            full = f"{name}.{column.name}"
            if column.nullable and full not in spared:
                change = partial(_null_in_half, column.name)
                yield f"{full} null in every other row", AlteredDataset(dataset, change, of=name)
        yield f"each row of {name} twice", AlteredDataset(dataset, twice, of=name)
    for text in sorted({c.name for n in requires for c in kinds[n].columns} - {"position"}):
        yield f"each row again of another {text}", AlteredDataset(dataset, partial(_again, text))


def _null_in_half(column: str, frame: pl.LazyFrame) -> pl.LazyFrame:
    if column not in frame.collect_schema():
        return frame
    odd = pl.int_range(pl.len()) % 2 == 1
    return frame.with_columns(pl.when(odd).then(pl.col(column)).alias(column))


def twice(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Each row twice; the copy has a position of its own."""
    return pl.concat([frame, frame.with_columns(pl.col("position") + 10**9)])


def _again(column: str, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Each row twice, where a text of it is another in the copy; in another file at one place."""
    if frame.collect_schema().get(column) not in (pl.String, pl.Categorical):
        return frame
    text = frame.with_columns(pl.col(column).cast(pl.String))
    away = 0 if column == "origin" else 10**9
    other = text.with_columns(pl.col(column) + "~", pl.col("position") + away)
    return pl.concat([text, other])


def equal(one: Any, other: Any) -> bool:
    """Whether numbers are the same, but for what adding in another order costs."""
    return bool(abs((one or 0) - (other or 0)) <= 1e-9 * max(abs(one or 0), abs(other or 0)))
