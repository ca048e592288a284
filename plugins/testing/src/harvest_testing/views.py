"""Views: what a view gives is what it declares, for whatever dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import polars as pl

from harvest import Column, Dataset, View
from harvest.model.frames import types_of

from .datasets import AlteredDataset, DatasetKit, copies
from .promise import BrokenPromise, does_not_apply, promise, require
from .unknown import faults_of_unknown, without_each_column


def check_view(dataset: Dataset, name: str, /, **settings: Any) -> pl.DataFrame:
    """The rows of a view of a dataset, whose columns have a declared meaning each.

    Raises BrokenPromise that names the columns without one, or of another type than the lazy frame
    says.
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
    """Whether a column has its kind's type, or a time another zone, or a count fewer bits."""
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
    """What every view promises, as tests that an author's class inherits.

    view: its name.  key: columns that identify a row.
    row_of: a record type of which every row gives one of the view's, where that is so.
    counts: column -> what its sum counts or sums up, for a recount by SQL: a record type or a
        column of one, as ``greeting.line``, ``greeting.line.size``, also with a condition:
        ``greeting.line WHERE text = ''``.
    """

    kind = "view"
    view: ClassVar[str]
    key: ClassVar[tuple[str, ...]] = ()
    row_of: ClassVar[str | None] = None
    counts: ClassVar[Mapping[str, str]] = {}

    def less_known(self, dataset: Dataset) -> Iterator[tuple[str, Dataset]]:
        """The dataset altered so that less of it is known, each time with words for it.

        One column that may be null at a time; an author adds others with ``AlteredDataset``.
        """
        for column, less in without_each_column(dataset, self.spec(dataset).requires):
            if column not in self.null_says:
                yield f"without {column}", less

    def spec(self, dataset: Dataset) -> View:
        return dataset.plugins.view(self.view)

    def lines(self, dataset: Dataset, **settings: Any) -> list[str]:
        frame = dataset.view(self.view, **settings).collect()
        return [repr(row) for row in frame.iter_rows(named=True)]

    def frames(self, dataset: Dataset, **settings: Any) -> list[tuple[str, pl.DataFrame]]:
        return [("", dataset.view(self.view, **settings).collect())]

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

    @promise("what a view counts and sums up is what SQL finds in its record types")
    def test_a_recount_finds_the_same(self, tmp_path: Path) -> None:
        two = self.two(tmp_path)
        requires = self.spec(two).requires
        if not (self.counts or self.row_of or self.key):
            does_not_apply("say in `counts` what a column counts, as in {'lines': 'greeting.line'}")
        self._recount(two, "")
        self._recount(self.one(tmp_path), "of one input alone, ")
        for words, less in altered(two, requires, self.null_says):
            self._recount(less, f"with {words}, ")
        rows = sum(two[name].select(pl.len()).collect().item() for name in requires)
        self._recount(copies(two, max(3, MANY // max(1, rows))), f"with {MANY} rows, ")

    def _recount(self, dataset: Dataset, about: str) -> None:
        """Each column sums up to what SQL finds, and no row is lost or doubled."""
        frame = dataset.view(self.view).collect()
        for column, counted in self.counts.items():
            found, wanted = frame[column].sum() or 0, asked(dataset, counted)
            require(
                equal(found, wanted),
                f"{about}{column} sums up to {found}; SQL finds {wanted} for {counted}",
                "keep rows whose key is null (nulls_equal=True in joins), and sum up before a join "
                "multiplies rows; leave none out because there are many",
            )
        twice = [k for k, n in Counter(frame.select(self.key).iter_rows()).items() if n > 1]
        require(not (self.key and twice), f"{about}{self.key} is {twice[:1]} in several rows", LOST)
        if self.row_of is not None:
            held = dataset[self.row_of].select(pl.len()).collect().item()
            require(
                frame.height == held, f"{about}{frame.height} rows of {held} of {self.row_of}", LOST
            )

    @promise("what is not known is not zero: no count becomes 0, and no rule concludes more")
    def test_unknown_is_not_zero(self, tmp_path: Path) -> None:
        if not self.key:
            does_not_apply("the class does not say what a row is (key)")
        dataset = self.two(tmp_path)
        faults = [
            f"{words}, {fault}"
            for words, less in self.less_known(dataset)
            for fault in faults_of_unknown(dataset, less, self.view, self.key)
        ]
        require(
            not faults,
            "\n".join(faults),
            "give null for what is not known, and let rules judge rows that have what they need; "
            "where null says something else, say so in `null_says` of the test class",
        )

    @promise("a view reads nothing before its rows are asked for")
    def test_it_is_lazy(self, tmp_path: Path) -> None:
        watched = AlteredDataset(self.one(tmp_path), _read_alarm)
        try:
            given = watched.view(self.view)
        except pl.exceptions.ComputeError as error:
            if _Read.__name__ not in str(error):
                raise
            given = None
        except _Read:
            given = None
        require(
            isinstance(given, pl.LazyFrame),
            "the view reads rows while it is built" if given is None else f"it is a {type(given)}",
            "give a lazy frame; harvest_toolkit.deferred makes one of what must look at rows",
        )


MANY = 30_000
"""Rows of a dataset that is made large."""

LOST = "see whether a join drops rows without a partner, or doubles those with two"


class _Read(Exception):
    """Rows were asked for."""


def _read_alarm(frame: pl.LazyFrame) -> pl.LazyFrame:
    def alarm(_: pl.DataFrame) -> pl.DataFrame:
        raise _Read(_Read.__name__)

    return frame.map_batches(alarm, schema=frame.collect_schema())


def asked(dataset: Dataset, counted: str) -> Any:
    """Rows of a record type, or the sum of its column, by SQL.

    counted: ``planted.event``, ``planted.flow.size_bytes``; with a condition in SQL,
        ``planted.event WHERE level = 'error'``.
    """
    target, _, condition = counted.partition(" WHERE ")
    name, column = target.strip(), ""
    if name not in dataset.plugins.record_types():
        name, _, column = name.rpartition(".")
    what = f'SUM("{column}")' if column else "COUNT(*)"
    where = f" WHERE {condition}" if condition else ""
    return dataset[name].sql(f"SELECT {what} AS n FROM self{where}").collect()["n"].item() or 0


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
