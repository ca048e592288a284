"""What is wrong with the declared columns of a view, by its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harvest.dataset import Dataset
from harvest.plugins.columns import columns_of
from harvest.testing import check_view

__all__ = ["faults_of_columns"]

OF_NUMBERS = ("bytes", "duration", "seconds", "share")
OF_TEXTS = ("id", "path")


def faults_of_columns(
    dataset: Dataset, name: str, ways: Iterable[Mapping[str, Any]] = ({},)
) -> list[str]:
    """Sentences on the columns of a view, whose settings are given in some ways.

    Each column of the rows has a meaning (``check_view``) and a place in the order; what is
    declared is given, once; formats fit the values; where values are missing, the meaning says so.
    """
    view = dataset.plugins.view(name)
    declared = dataset.plugins.load_part(view, view.columns, f"the columns of {name}")
    names = [column.name for column in declared]
    frames = [check_view(dataset, name, **settings) for settings in ways]
    types = {column: kind for frame in frames for column, kind in frame.schema.items()}
    faults = [f"{n} is declared twice" for n in {n for n in names if names.count(n) > 1}]
    faults += [f"{n} is declared and never given" for n in names if n not in types]
    faults += [f"{n} is given and not declared" for n in types if n not in names]
    for column, meaning in columns_of(view, dataset.plugins).items():
        if column not in types:
            continue
        if meaning.format in OF_NUMBERS and not types[column].is_numeric():
            faults.append(f"{column} is shown as {meaning.format} and is {types[column]}")
        if meaning.format in OF_TEXTS and str(types[column]) != "String":
            faults.append(f"{column} is shown as {meaning.format} and is {types[column]}")
        missing = any(column in f.columns and f[column].null_count() for f in frames)
        if missing and "null" not in str(meaning.doc).lower():
            faults.append(f"{column} is null somewhere, which its doc does not mention")
    return sorted(faults)
