"""What is wrong with the declared columns of a view, by its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import polars as pl

from harvest import Column, Dataset
from harvest.plugins.columns import columns_of
from harvest.testing import check_view

__all__ = ["faults_of_columns"]

_OF_NUMBERS: Final = ("bytes", "duration", "seconds", "share")
_OF_TEXTS: Final = ("id", "path")
_UNITS: Final = {"bytes": "bytes", "seconds": "s", "duration": "s", "share": "1"}
"""The unit of values that are shown in these formats."""

_ENDINGS: Final = {
    "_per_s": "bytes/s",
    "_s": "s",
    "_bytes": "bytes",
    "_gib_hours": "GiB h",
    "_hours": "h",
    "_share": "1",
    "_percent": "%",
}
"""The unit that the end of a column's name promises."""


def faults_of_columns(
    dataset: Dataset, name: str, ways: Iterable[Mapping[str, Any]] = ({},)
) -> list[str]:
    """Sentences on the columns of a view, whose settings are given in some ways.

    Each column of the rows has a meaning (``check_view``) and a place in the order; what is
    declared is given, once; formats and units fit the values; where values are missing, a
    meaning of the view's own says so.
    """
    view = dataset.plugins.view(name)
    declared = dataset.plugins.load_part(view, view.columns, f"the columns of {name}")
    names = [column.name for column in declared]
    own = {column.name for column in declared if column.doc is not None}
    frames = [check_view(dataset, name, **settings) for settings in ways]
    types = {column: kind for frame in frames for column, kind in frame.schema.items()}
    faults = [f"{n} is declared twice" for n in {n for n in names if names.count(n) > 1}]
    faults += [f"{n} is declared and never given" for n in names if n not in types]
    faults += [f"{n} is given and not declared" for n in types if n not in names]
    for column, meaning in columns_of(view, dataset.plugins).items():
        if column not in types:
            continue
        faults += _faults_of_format(meaning, types[column])
        missing = any(column in f.columns and f[column].null_count() for f in frames)
        if missing and column in own and "null" not in str(meaning.doc).lower():
            faults.append(f"{column} is null somewhere, which its doc does not mention")
    return sorted(faults)


def _faults_of_format(column: Column, kind: pl.DataType) -> Iterator[str]:
    if column.format in _OF_TEXTS:
        if kind != pl.String:
            yield f"{column.name} is shown as {column.format} and is {kind}"
    elif column.format is not None and not (kind.is_numeric() or kind.is_temporal()):
        yield f"{column.name} is shown as {column.format} and is {kind}"
    promised = next((u for end, u in _ENDINGS.items() if column.name.endswith(end)), column.unit)
    if column.unit != promised:
        yield f"{column.name} has the unit {column.unit}, its name promises {promised}"
    shown = _UNITS.get(column.format or "", column.unit)
    if column.unit not in (shown, f"{shown}/s"):
        yield f"{column.name} has the unit {column.unit} and is shown in {shown}"
    if not str(column.doc).endswith("."):
        yield f"the doc of {column.name} is not a sentence"
