"""An independent recount of what a view counts and sums up: SQL over its record types.

Where a view loses rows whose key is null, or a join multiplies what it sums up, its numbers differ
from those of the rows themselves; they do so where the sample is altered for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs
import polars as pl

from harvest import Dataset, HarvestError

from .datasets import AlteredDataset


@attrs.frozen
class Recount:
    """What a column of a view sums up to: rows of a record type, or the values of its column.

    counted: ``planted.event``, ``planted.flow.size_bytes``; with a condition in SQL,
        ``planted.event WHERE level = 'error'``.
    """

    column: str
    counted: str

    def asked(self, dataset: Dataset) -> Any:
        """The number by SQL; Raises KeyError for a record type that nobody declares."""
        target, _, condition = self.counted.partition(" WHERE ")
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
    dataset: Dataset,
    view: Callable[[Dataset], pl.DataFrame],
    columns: tuple[str, ...],
    requires: tuple[str, ...],
) -> dict[str, list[Recount]]:
    """For columns that add up: what each may count, where rows of one type, all known, are alone.

    There no join multiplies and no null is left out; parts of the rows show what it is.
    """
    held: dict[str, list[Recount]] = {}
    for name in requires:
        tried = []
        for share in range(4):
            alone = _Alone(dataset, partial(_known_share, share), of=name)
            with contextlib.suppress(HarvestError):  # it needs another record type
                tried.append((alone, view(alone)))
        for column in columns:
            for counted in _candidates(dataset, name):
                recount = Recount(column, counted)
                numbers = [(recount.asked(alone), recount.held(frame)) for alone, frame in tried]
                if all(equal(*pair) for pair in numbers) and len({n for n, _ in numbers}) > 1:
                    held.setdefault(column, []).append(recount)
    return held


def _candidates(dataset: Dataset, name: str) -> Iterator[str]:
    columns = dataset.plugins.record_types()[name].columns
    types = dataset[name].collect_schema()
    yield name
    for column in columns:
        if types[column.name].is_numeric() and column.name != "position":
            yield f"{name}.{column.name}"
        if column.nullable:
            yield f'{name} WHERE "{column.name}" IS NOT NULL'


class _Alone(AlteredDataset):
    """Other record types than the one that is changed have no rows."""

    def __getitem__(self, name: str) -> pl.LazyFrame:
        frame = super().__getitem__(name)
        return frame if name == self.of else frame.head(0)


def _known_share(share: int, frame: pl.LazyFrame) -> pl.LazyFrame:
    """A part of the rows, with something in place of what is not known."""
    texts = pl.selectors.string() | pl.selectors.categorical()
    some = frame.filter(pl.int_range(pl.len()) % 5 > share)
    return some.with_columns(
        pl.selectors.numeric().fill_null(pl.int_range(pl.len()) % 5 + 1),
        texts.cast(pl.String).fill_null("something"),
    )


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
        yield f"one row of {name} 70,000 times", AlteredDataset(dataset, _often, of=name)
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


def _often(frame: pl.LazyFrame) -> pl.LazyFrame:
    number = pl.LazyFrame({"number": pl.int_range(70_000, eager=True)})
    many = frame.head(1).join(number, how="cross")
    return many.with_columns(pl.col("position") + pl.col("number")).drop("number")


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
