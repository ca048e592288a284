"""An independent recount of what a view counts and sums up: SQL over its record types.

Where a view loses rows whose key is null, or a join multiplies what it sums up, its numbers differ
from those of the rows themselves; they do so where the sample is altered for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import attrs
import polars as pl

from harvest import Dataset

from .datasets import AlteredDataset


@attrs.frozen
class Recount:
    """What a column of a view sums up to: rows of a record type, or the values of its column.

    told: ``planted.event``, ``planted.flow.size_bytes``; with a condition in SQL, ``planted.event
    WHERE level = 'error'``.
    """

    column: str
    told: str

    def asked(self, dataset: Dataset) -> Any:
        """The number by SQL; Raises KeyError for a record type that nobody declares."""
        target, _, condition = self.told.partition(" WHERE ")
        kinds = dataset.plugins.record_types()
        name, column = target.strip(), None
        if name not in kinds:
            name, _, column = name.rpartition(".")
        what = "COUNT(*)" if column is None else f'SUM("{column}")'
        where = f" WHERE {condition}" if condition else ""
        return dataset[name].sql(f"SELECT {what} AS n FROM self{where}").collect()["n"].item() or 0

    def held(self, frame: pl.DataFrame) -> Any:
        """What the view has."""
        return frame[self.column].sum() or 0


def inferred(
    views: list[tuple[Dataset, pl.DataFrame]], columns: tuple[str, ...], requires: tuple[str, ...]
) -> list[Recount]:
    """Recounts of columns that add up, as far as each of some datasets bears one out."""
    found = []
    for column in columns:
        for told in _candidates(views[0][0], requires):
            recount = Recount(column, told)
            numbers = [(recount.asked(dataset), recount.held(frame)) for dataset, frame in views]
            if all(equal(*pair) for pair in numbers) and len({n for n, _ in numbers}) > 1:
                found.append(recount)
                break
    return found


def _candidates(dataset: Dataset, requires: tuple[str, ...]) -> Iterator[str]:
    kinds = dataset.plugins.record_types()
    for name in requires:
        yield name
        types = dataset[name].collect_schema()
        for column in kinds[name].columns:
            if types[column.name].is_numeric() and column.name != "position":
                yield f"{name}.{column.name}"


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
        yield f"each row of {name} twice", AlteredDataset(dataset, _twice, of=name)


def _null_in_half(column: str, frame: pl.LazyFrame) -> pl.LazyFrame:
    if column not in frame.collect_schema():
        return frame
    odd = pl.int_range(pl.len()) % 2 == 1
    return frame.with_columns(pl.when(odd).then(pl.col(column)).alias(column))


def _twice(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Each row twice; the copy has a position of its own."""
    return pl.concat([frame, frame.with_columns(pl.col("position") + 10**9)])


def equal(one: Any, other: Any) -> bool:
    """Whether numbers are the same, but for what adding in another order costs."""
    return bool(abs((one or 0) - (other or 0)) <= 1e-9 * max(abs(one or 0), abs(other or 0)))
