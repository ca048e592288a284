"""The conformance kit for views: their rows match the declaration for any dataset."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import polars as pl

from harvest import Column, Dataset, View
from harvest.model.frames import types_of

from .datasets import AlteredDataset, DatasetKit, failing
from .promise import BrokenPromise, does_not_apply, promise, require
from .unknown import faults_of_unknown, without_each_column


def check_view(dataset: Dataset, name: str, /, **settings: Any) -> pl.DataFrame:
    """Build a view of a dataset, and check its columns; return its rows.

    Raises BrokenPromise if a column has no declared meaning, or if a column's type differs from
    that of the lazy frame.
    """
    lazy = dataset.view(name, **settings)
    frame = lazy.collect()
    explained = {c.name for c in dataset.describe(name, **settings).columns if c.doc}
    unexplained = [n for n in frame.columns if n not in explained]
    if unexplained:
        raise BrokenPromise(
            f"{name} gives {', '.join(unexplained)}",
            "add them to the columns of the View, with a doc",
            "the meaning of every column of a view is declared",
        )
    if lazy.collect_schema() != frame.schema:
        raise BrokenPromise(
            f"{name} says {lazy.collect_schema()} and gives {frame.schema}",
            "cast what depends on the rows",
            "the types of a view's columns do not depend on its rows",
        )
    return frame


_OF_TEXTS: Final = ("id", "path")
_UNITS: Final = {"bytes": "bytes", "seconds": "s", "duration": "s", "share": "1"}
"""Format -> unit of the values shown in that format."""

_ENDINGS: Final = {
    "_per_s": "bytes/s",
    "_s": "s",
    "_bytes": "bytes",
    "_gib_hours": "GiB h",
    "_hours": "h",
    "_share": "1",
    "_percent": "%",
}
"""Suffix of a column's name -> unit of its values."""


def faults_of_columns(
    dataset: Dataset, name: str, ways: Iterable[Mapping[str, Any]] = ({},)
) -> list[str]:
    """Return the faults of a view's columns, one sentence each; ways: settings to build it with.

    Each column has a meaning (``check_view``) and is declared exactly once, and each declared
    column is present. Formats and units fit the values. A doc that the view itself gives mentions
    null if values are missing.
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
    faults += [f"{n} comes first and is not declared" for n in view.first if n not in names]
    for n, kind in types_of(c for c in declared if c.type is not None and c.name in types).items():
        if not _is_of_kind(types[n], kind):
            faults.append(f"{n} is declared as {kind} and is {types[n]}")
    meanings = {c.name: c for way in ways for c in dataset.describe(name, **way).columns}
    for column, meaning in meanings.items():
        if column not in types:
            continue
        faults += _faults_of_format(meaning, types[column])
        missing = any(column in f.columns and f[column].null_count() for f in frames)
        if missing and column in own and "null" not in str(meaning.doc).lower():
            faults.append(f"{column} is null somewhere, which its doc does not mention")
    return sorted(faults)


def _is_of_kind(given: pl.DataType, kind: pl.DataType) -> bool:
    """Whether a type fits the declared one; times may differ in zone, integers in width."""
    if kind == pl.Int64 and given.is_integer():
        return given != pl.UInt64
    return given == kind or (given.is_temporal() and kind.is_temporal())


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


class ViewConformance(DatasetKit):
    """Tests of everything that a view promises; an author's test class inherits them.

    view: name of the view. key: columns that identify a row.
    """

    view: ClassVar[str]
    key: ClassVar[tuple[str, ...]] = ()

    def spec(self, dataset: Dataset) -> View:
        return dataset.plugins.view(self.view)

    def lines(self, dataset: Dataset, **settings: Any) -> list[str]:
        frame = dataset.view(self.view, **settings).collect()
        return [repr(row) for row in frame.iter_rows(named=True)]

    @promise("columns are what their declarations say")
    def test_columns_are_as_declared(self, tmp_path: Path) -> None:
        ways = [{}, *({name: value} for name, value in self.examples.items())]
        faults = faults_of_columns(self.two(tmp_path), self.view, ways)
        require(not faults, "\n".join(faults), "mend the view, or the columns of its View")

    @promise("where a record type is absent, the columns and their types are the same")
    def test_the_schema_does_not_depend_on_rows(self, tmp_path: Path) -> None:
        dataset = self.one(tmp_path)
        expected = dataset.view(self.view).collect().schema
        requires = self.spec(dataset).requires
        less = {"rows": AlteredDataset(dataset, lambda frame: frame.head(0))}
        less |= {n: AlteredDataset(dataset, absent=n) for n in requires if len(requires) > 1}
        for absent, altered_dataset in less.items():
            found = altered_dataset.view(self.view).collect().schema
            require(
                found == expected,
                f"without {absent}: {found}, else {expected}",
                "let empty frames take the same way, and cast what depends on rows",
            )

    @promise("what is unknown is not zero: no count becomes 0, and no rule concludes more")
    def test_unknown_is_not_zero(self, tmp_path: Path) -> None:
        if not self.key:
            does_not_apply("the class does not say what a row is (key)")
        dataset = self.two(tmp_path)
        faults = [
            f"without {column}, {fault}"
            for column, less in without_each_column(dataset, self.spec(dataset).requires)
            if column not in self.null_says
            for fault in faults_of_unknown(dataset, less, self.view, self.key)
        ]
        require(
            not faults,
            "\n".join(faults),
            "give null for what is unknown, and let rules judge rows that have what they need; "
            "where null says something else, say so in `null_says` of the test class",
        )

    @promise("a view reads nothing before its rows are asked for")
    def test_it_is_lazy(self, tmp_path: Path) -> None:
        watched = AlteredDataset(self.one(tmp_path), partial(failing, _Read(_Read.__name__)))
        try:
            given = watched.view(self.view)
        except (pl.exceptions.ComputeError, _Read) as error:
            if _Read.__name__ not in str(error):
                raise
            given = None
        require(
            isinstance(given, pl.LazyFrame),
            "the view reads rows while it is built" if given is None else f"it is a {type(given)}",
            "give a lazy frame: of what must look at rows, by harvest_toolkit.frames.deferred",
        )


class _Read(Exception):
    """Raised when a view reads rows."""
