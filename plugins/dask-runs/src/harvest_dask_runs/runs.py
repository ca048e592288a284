"""Which runs a dataset holds, and the choice of one."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.choices import choice_of_runs, named_directory
from harvest_toolkit.frames import directory_of
from harvest_toolkit.kept import kept

from .record_names import DASK_TYPES

run_of = directory_of
"""The run of an input: its directory, which the inputs of one run share."""


def runs_of(dataset: DatasetReader) -> list[str]:
    """The directories of all Dask runs in a dataset, sorted; found out once."""
    return kept(dataset, "dask.runs", lambda: _directories(dataset))


def _directories(dataset: DatasetReader) -> list[str]:
    origins = [
        dataset[name].select(pl.col("origin").cast(pl.String)).unique()
        for name in DASK_TYPES
        if name in dataset
    ]
    if not origins:
        return []
    found = pl.concat(pl.collect_all(origins)).select(run=run_of(pl.col("origin")))
    return found["run"].unique().sort().to_list()


def named_run(dataset: DatasetReader, run: str | None) -> str | None:
    """The directory of the run that a setting names; None where it names none.

    Raises UsageError when none or several bear the name.
    """
    return None if run is None else named_directory(runs_of(dataset), run)


def choose_run(dataset: DatasetReader, run: str | None, how: str) -> str:
    """The one run that is named, or the only one there is.

    how: the setting or option by which a user names it (``--set run=``).
    Raises UsageError when there is none, or a choice is to be made.
    """
    runs = runs_of(dataset)
    if run is not None:
        return named_directory(runs, run)
    if not runs:
        raise UsageError(
            "the dataset holds no Dask run",
            remedy="harvest one with the source 'mofka-dask' or 'dask'",
        )
    if len(runs) > 1:
        many = f"the dataset holds {len(runs)} runs"
        raise choice_of_runs(many, f"choose with {how}", runs, ["run"])
    return runs[0]
