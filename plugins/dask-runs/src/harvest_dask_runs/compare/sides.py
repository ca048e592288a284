"""Choice of the runs that are compared: those of the first side, and those of the second."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

import attrs

import harvest
from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import count_in_words
from harvest_toolkit.choices import choice_of_runs, named_directory

from .. import frames


@attrs.frozen
class RunOf:
    """A run: its dataset, the dataset's place (empty for the given one), and its directory."""

    dataset: DatasetReader = attrs.field(eq=False, repr=False)
    place: str
    directory: str

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.directory.rpartition("/")[2] or self.directory


Sides: TypeAlias = tuple[list[RunOf], list[RunOf]]


def sides_of(
    dataset: DatasetReader,
    runs: Sequence[str] = (),
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    other: str | Path | None = None,
) -> Sides:
    """Choose the runs of both sides; the settings are those of the view.

    Raises UsageError if a side has no run, or if two different sides share a run.
    """
    if runs and (before or after):
        raise UsageError(
            "runs= and before= or after= are both given",
            remedy="give runs=A,B, or before=A1,A2 and after=B1,B2",
        )
    if runs and len(runs) != 2:
        raise UsageError(
            f"runs= names {count_in_words(len(runs), 'run')} instead of two: {', '.join(runs)}",
            remedy="write runs=A,B; for several on a side, before=A1,A2 and after=B1,B2",
        )
    if runs:
        before, after = runs[:1], runs[1:]
    first = runs_of(dataset)
    second = first if other is None else runs_of(harvest.open(other), str(other))
    if not before and not after:
        return (first, second) if other is not None else _both(first)
    firsts = _named(first, before)
    seconds = _named(second, after)
    if not firsts:
        firsts = [run for run in first if run not in seconds]
    if not seconds:
        seconds = [run for run in second if run not in firsts]
    if not firsts or not seconds:
        raise UsageError(
            "all runs are on one side: none is left to compare with",
            remedy="name both sides: before=A1,A2 after=B1,B2",
        )
    common = [run.name for run in firsts if run in seconds]
    if common and set(firsts) != set(seconds):
        raise UsageError(
            f"on both sides: {', '.join(common)}", remedy="name each run on only one side"
        )
    return firsts, seconds


def _both(runs: list[RunOf]) -> Sides:
    """Return the two runs of a dataset; raises UsageError if it holds fewer or more."""
    if len(runs) < 2:
        there = f"the dataset holds {'only one' if runs else 'no'} Dask run: a comparison needs two"
        raise UsageError(there, remedy="harvest another run into it, or name a dataset by other=")
    if len(runs) > 2:
        names = [run.directory for run in runs]
        raise choice_of_runs(
            f"the dataset holds {len(runs)} runs: a comparison has two sides",
            "choose runs=A,B, or before= and after=",
            names,
            ["before", "after"],
        )
    return runs[:1], runs[1:]


def _named(runs: list[RunOf], names: Sequence[str]) -> list[RunOf]:
    """Find the runs with these names, or else matching these patterns, each once."""
    by_directory = {run.directory: run for run in runs}
    found: dict[str, RunOf] = {}
    for name in names:
        exact = [d for d in by_directory if f"/{d}".endswith(f"/{name}")]
        pattern = not exact and any(sign in name for sign in "*?[")
        fitting = [d for d in by_directory if pattern and fnmatchcase(f"/{d}", f"*/{name}")]
        for directory in fitting or [named_directory(by_directory, name)]:
            found[directory] = by_directory[directory]
    return list(found.values())


def runs_of(dataset: DatasetReader, place: str = "") -> list[RunOf]:
    """List all Dask runs of a dataset, in the order of their directories."""
    return [RunOf(dataset, place, directory) for directory in frames.runs_of(dataset)]
