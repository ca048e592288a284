"""Views: what a view gives is what it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harvest.plugins.columns import columns_of

from .promise import BrokenPromise

if TYPE_CHECKING:
    import polars as pl

    from harvest.dataset import Dataset

__all__ = ["check_view"]


def check_view(dataset: Dataset, name: str, /, **settings: Any) -> pl.DataFrame:
    """The rows of a view of a dataset, whose columns have a declared meaning each.

    Raises BrokenPromise that names the columns without one.
    """
    frame = dataset.view(name, **settings).collect()
    known = columns_of(dataset.plugins.view(name), dataset.plugins)
    unexplained = [n for n in frame.columns if n not in known or not known[n].doc]
    if unexplained:
        raise BrokenPromise(
            f"{name} gives {', '.join(unexplained)}",
            "add them to the columns of the View, with a doc",
            "the meaning of every column of a view is declared",
        )
    return frame
