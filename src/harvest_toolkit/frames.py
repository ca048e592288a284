"""Frames of views: sums and fractions of known values, rules for texts, deferred and kept results.

A sum that exceeds 64 bits wraps silently, and one infinite time makes a sum infinite.  So these
sums are null where they do not fit, and impossible values become null before the sum.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import LONGEST_S
from harvest.toolkit.frames import TEXT_MAP

__all__ = [
    "complete_sum", "count_if_known", "deferred", "directory_of", "each_once", "extra_of",
    "first_text", "fitted", "fraction", "kept", "known_sum", "mapped", "nearest_above", "possible",
    "safe_sum", "sum_or_none", "whole_nanoseconds",
]  # fmt: skip

_TEXT: Final = pl.String()

T = TypeVar("T")

CERTAINTY: Final = "certainty"
"""The column of a view with the reasons why its numbers are uncertain."""


def possible(values: str | pl.Expr) -> pl.Expr:
    """Cast counts or sizes to 128 bits, where arithmetic does not wrap; null below 0."""
    found = _column(values)
    return pl.when(found >= 0).then(found.cast(pl.Int128))


def whole_nanoseconds(seconds: str | pl.Expr) -> pl.Expr:
    """Convert seconds to whole nanoseconds, whose sum does not depend on their order.

    Null for NaN, infinity and more than 285 years.
    """
    found = _column(seconds)
    # only numbers that fit reach the cast
    return pl.when(found.abs() < LONGEST_S).then((found * 1e9).round(0)).cast(pl.Int64)


def safe_sum(values: str | pl.Expr) -> pl.Expr:
    """Sum known values, 0 of none; null when the sum is infinite or its type cannot hold it.

    A sum that wrapped differs from the float sum by 2**64, any other by a few digits.
    """
    total, near = _column(values).sum(), _column(values).cast(pl.Float64).sum()
    return pl.when((total.cast(pl.Float64) - near).abs() < 2.0**62).then(total)


def known_sum(values: str | pl.Expr) -> pl.Expr:
    """Sum known values; null when there is none."""
    found = _column(values)
    return pl.when(found.is_not_null().any()).then(safe_sum(found))


def sum_or_none(values: str | pl.Expr) -> pl.Expr:
    """Sum known values; 0 of no rows, null when there are rows and none is known."""
    found = _column(values)
    return pl.when((found.len() == 0) | found.is_not_null().any()).then(safe_sum(found))


def complete_sum(values: str | pl.Expr) -> pl.Expr:
    """Sum values; null when one is unknown, and of no rows."""
    found = _column(values)
    return pl.when(found.len() > 0, found.is_not_null().all()).then(safe_sum(found))


def count_if_known(flag: str | pl.Expr) -> pl.Expr:
    """Count rows with a flag; null when the flag is unknown in all rows."""
    found = _column(flag)
    return pl.when(found.is_not_null().any()).then(found.sum().cast(pl.Int64))


def fraction(part: str | pl.Expr, whole: str | pl.Expr) -> pl.Expr:
    """Divide a part by its whole; null where the whole is 0 or either is unknown."""
    return pl.when(_column(whole) > 0).then(_column(part) / _column(whole))


def first_text(*cases: tuple[pl.Expr, str | pl.Expr]) -> pl.Expr:
    """Return the text of the first true condition, as a reason; null where no condition is true.

    An expression given as a text must not be null where its condition is true.
    """
    return pl.coalesce(
        pl.when(condition).then(pl.lit(text) if isinstance(text, str) else text)
        for condition, text in cases
    )


def _column(named: str | pl.Expr) -> pl.Expr:
    return pl.col(named) if isinstance(named, str) else named


def extra_of(names: Sequence[str]) -> pl.Expr:
    """Combine text columns into the map column ``extra``; null when ``names`` is empty.

    A row's map leaves out the columns that are null in that row.
    """
    if not names:
        return pl.lit(None, TEXT_MAP).alias("extra")
    pairs = (pl.struct(pl.lit(name).alias("key"), pl.col(name).alias("value")) for name in names)
    pair = pl.element()
    known = pair.filter(pair.struct.field("value").is_not_null())
    return pl.concat_list(pairs).list.eval(known).alias("extra")


def directory_of(path: pl.Expr) -> pl.Expr:
    """Return the directory of a path or URI; ``.`` when it has none."""
    directory = path.cast(pl.String).str.extract(r"^(.*)/[^/]*$", 1)
    return pl.when(directory == "").then(pl.lit("/")).otherwise(directory).fill_null(".")


def nearest_above(directory: pl.Expr, known: Iterable[str]) -> pl.Expr:
    """Return the nearest known directory that is the same or a parent; null when there is none."""
    wanted = set(known)

    def nearest(above: str) -> str | None:
        while above not in wanted and "/" in above:
            above = above.rpartition("/")[0]
        return above if above in wanted else None

    return mapped(directory, nearest)


def mapped(texts: pl.Expr, rule: Callable[[str], Any], kind: pl.DataType = _TEXT) -> pl.Expr:
    """Apply a rule to a column of texts; see ``each_once``."""
    return texts.cast(pl.String).map_batches(
        lambda found: each_once(found, rule, kind), return_dtype=kind, is_elementwise=True
    )


def each_once(texts: pl.Series, rule: Callable[[str], Any], kind: pl.DataType = _TEXT) -> pl.Series:
    """Apply a rule once to each distinct text; null stays null. kind: type of the results."""
    distinct = texts.unique().drop_nulls()
    results = pl.Series(texts.name, [rule(text) for text in distinct], kind)
    number = pl.int_range(len(distinct), dtype=pl.UInt32, eager=True)
    return results.gather(
        texts.replace_strict(distinct, number, default=None, return_dtype=pl.UInt32)
    )


def fitted(frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Select and cast the columns of a schema; a whole number that its type cannot hold is null.

    A row with such a null gets ``too_large`` in ``certainty``, if the schema has that column.
    """
    wide = [name for name in schema if frame.schema[name] == pl.Int128]
    lost = [
        pl.col(name).is_not_null() & pl.col(name).cast(schema[name], strict=False).is_null()
        for name in wide
    ]
    if lost and CERTAINTY in schema:
        more = pl.concat_list(CERTAINTY, pl.lit("too_large"))
        frame = frame.with_columns(
            pl.when(pl.any_horizontal(lost)).then(more).otherwise(CERTAINTY).alias(CERTAINTY)
        )
    return frame.select(pl.col(name).cast(kind, strict=False) for name, kind in schema.items())


def deferred(
    compute: Callable[[], pl.DataFrame], schema: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Make a lazy frame of what ``compute`` returns, ``fitted`` to ``schema``.

    ``compute`` runs when the frame is collected, so it can read millions of rows with the streaming
    engine in bounded memory, whichever engine the caller collects with.
    """
    # cached for one query, so that frames collected together compute it once
    return pl.defer(lambda: fitted(compute(), schema), schema=dict(schema)).cache()


def kept(
    dataset: DatasetReader, key: Hashable, find: Callable[[], T], most: int | None = None
) -> T:
    """Return the result of ``find``, which is called once for a dataset and a key.

    A report and its rules need the same choice of a run or the same listing of scans. The cache
    lives as long as the dataset.
    key: begins with a name that no other caller uses, followed by all that ``find`` depends on.
    most: maximum number of rows of a frame that is cached; without it, the result must be small.
    Callers must not change the result.  Exceptions are not cached.
    """
    known = _KNOWN.setdefault(dataset, {})
    if key not in known:
        found = find()
        if most is not None and isinstance(found, pl.DataFrame) and found.height > most:
            return found
        known[key] = found
    return cast(T, known[key])


_KNOWN: WeakKeyDictionary[DatasetReader, dict[Hashable, object]] = WeakKeyDictionary()
