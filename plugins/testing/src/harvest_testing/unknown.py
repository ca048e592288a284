"""Unknown is not zero: check what views and rules claim if a value of the input is unknown.

A dataset is altered so that less is known: a nullable column is null in all rows, a worker
reported nothing, or a job still runs. Then no number may become 0. No rule may conclude more than
before, or find no problem where it found one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from harvest import Dataset, DatasetError, UsageError
from harvest.findings import SEVERITIES, evaluate
from harvest_toolkit.frames import kept

from .datasets import AlteredDataset, nulled


def without_column(dataset: Dataset, record_type: str, column: str) -> Dataset:
    """Return a dataset in which a column is null in all rows of a record type."""
    return AlteredDataset(dataset, partial(nulled, {column}), of=record_type)


def without_each_column(
    dataset: Dataset, record_types: Iterable[str]
) -> Iterator[tuple[str, Dataset]]:
    """Yield, for each nullable column, its full name and the dataset without its values."""
    kinds = dataset.plugins.record_types()
    for name in record_types:
        for column in kinds[name].columns:
            if column.nullable:
                full = f"{name}.{column.name}"
                yield full, without_column(dataset, name, column.name)


def faults_of_unknown(
    known: Dataset,
    less: Dataset,
    view: str,
    key: Sequence[str],
    *,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> list[str]:
    """Return unsupported claims of a view and of its rules, one sentence each.

    known: a dataset; less: the same dataset with fewer known values.
    key: columns of the view that identify a row.
    thresholds: rule -> name -> value, lower than declared if a small dataset would not reach them.
    settings: settings of the view, also used for its rules.
    A view that refuses with a DatasetError or UsageError makes no unsupported claim.
    """
    return [
        *_faults_of_view(known, less, view, key, settings),
        *_faults_of_rules(known, less, view, thresholds or {}, settings),
    ]


def _faults_of_view(
    known: Dataset, less: Dataset, view: str, key: Sequence[str], settings: dict[str, Any]
) -> Iterator[str]:
    asked = (view, *sorted(settings.items()))
    before = kept(known, ("testing.view", asked), known.view(view, **settings).collect)
    try:
        after = less.view(view, **settings).collect()
    except (DatasetError, UsageError):
        return
    both = before.join(after, on=list(key), how="inner", suffix=" of less", nulls_equal=True)
    columns = known.describe(view, **settings).columns
    nullable = {c.name for c in columns if "null" in str(c.doc).lower()}
    for name, kind in before.drop(key).schema.items():
        then, now = pl.col(name), pl.col(f"{name} of less")
        if kind.is_numeric():
            found, said = both.filter(then != 0, now == 0), "0"
        elif kind == pl.Boolean and name in nullable:  # others may say whether a value is known
            found, said = both.filter(then, ~now), "false"
        else:
            continue
        if not found.is_empty():
            was = "true" if kind == pl.Boolean else repr(found[name][0])
            where = ", ".join(f"{k} = {found[k][0]!r}" for k in key)
            yield f"{view}.{name} is {was} and becomes {said} ({where})"


def _faults_of_rules(
    known: Dataset,
    less: Dataset,
    view: str,
    thresholds: Mapping[str, Mapping[str, Any]],
    settings: dict[str, Any],
) -> Iterator[str]:
    rules = [rule for rule in known.plugins.rules.values() if rule.view == view]
    before, after = (
        evaluate(each, known.plugins, rules=rules, thresholds=thresholds, settings=settings)
        for each in (known, less)
    )
    for rule in rules:
        was, now = (
            [SEVERITIES.index(f.finding.severity) for f in verdict.found if f.rule is rule]
            for verdict in (before, after)
        )
        if now and min(now) < min(was, default=len(SEVERITIES)):
            texts = [f.finding.text for f in after.found if f.rule is rule]
            yield f"{rule.name} concludes more than before: {texts[0]}"
        partly = [name for name, _ in after.partly]
        if was and rule.name in after.passed and rule.name not in partly:
            yield f"{rule.name} concluded something, and now that there is nothing"
