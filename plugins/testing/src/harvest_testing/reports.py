"""Reports: their numbers are those of their views, and any text of the input can be shown."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import polars as pl

from harvest import Dataset, DatasetError, ReportSpec, UsageError
from harvest_report import Notes, Report, Table

from .datasets import AlteredDataset, DatasetKit, copies
from .promise import does_not_apply, promise, require
from .unknown import faults_of_zeros, without_each_column
from .views import equal

FEW: Final = 10
MANY: Final = 60
"""Groups that a report shows one by one, and so many that it may leave some out."""


class ReportConformance(DatasetKit):
    """What every report promises, as tests that an author's class inherits.

    report: its name.
    totals: table -> columns that add up, in its row whose first column is ``total``.
    sums: (table, column) -> (view, column) of the same sum.
    """

    kind = "report"
    report: ClassVar[str]
    totals: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    sums: ClassVar[Mapping[tuple[str, str], tuple[str, str]]] = {}

    def spec(self, dataset: Dataset) -> ReportSpec:
        return dataset.plugins.report(self.report)

    def lines(self, dataset: Dataset, **settings: Any) -> list[str]:
        report = dataset.report(self.report, **settings)
        shown = [f"{table.name}: {row!r}" for table in report.tables for row in table.data.rows()]
        return [*_words(report), *shown]

    def frames(self, dataset: Dataset, **settings: Any) -> list[tuple[str, pl.DataFrame]]:
        report = dataset.report(self.report, **settings)
        return [(f"{table.name}.", table.rows) for table in report.tables]

    @promise("totals are the sums of their tables, and the tables' sums those of their views")
    def test_totals_add_up(self, tmp_path: Path) -> None:
        one, two = self.one(tmp_path), self.two(tmp_path)
        shown_totals = [t.name for t in two.report(self.report).tables if _has_total(t)]
        untold = sorted(set(shown_totals) - set(self.totals))
        require(
            not untold,
            f"{', '.join(untold)} shows a total, and `totals` of the test class does not name it",
            "say which columns add up: totals = {'table': ('column',)}",
        )
        if not (self.totals or self.sums):
            does_not_apply("the class names no totals (totals, sums)")
        for dataset in (one, two):
            self._require_totals(dataset, {})
        for name, value in self.examples.items():  # such as how many rows are shown
            self._require_totals(two, {name: value})
            for number in range(1, FEW) if str(value).isdigit() else ():
                with contextlib.suppress(UsageError):  # it is not taken
                    self._require_totals(two, {name: number})
        for number in self._limits(one):
            about = f"with {number} groups of one row each, "
            self._require_totals(_of_groups(one, number), {}, about)

    def _limits(self, dataset: Dataset) -> list[int]:
        """Numbers of groups around those beyond which tables do not grow."""
        many = {frame.height for _, frame in self.frames(_of_groups(dataset, MANY))}
        limits = {n for height in many for n in range(height - 4, height + 3)}
        return sorted({1, 2, MANY} | {n for n in limits if 0 < n < MANY})

    @promise("what is not known is not zero, in no row of a table")
    def test_unknown_is_not_zero(self, tmp_path: Path) -> None:
        dataset = self.two(tmp_path)
        before = dict(self.frames(dataset))
        for words, less in without_each_column(dataset, self.spec(dataset).requires):
            with contextlib.suppress(DatasetError, UsageError):
                after = self.frames(less) if words not in self.null_says else []
                faults = (faults_of_zeros(before[n], f, _key_of(before[n], f)) for n, f in after)
                require(
                    not (found := list(chain(*faults))),
                    f"without {words}, {found[:1]}",
                    "give null for what is not known (known_sum), also in totals; where null says "
                    "something else, say so in `null_says` of the test class",
                )

    def _require_totals(self, dataset: Dataset, how: Mapping[str, Any], about: str = "") -> None:
        about += "".join(f"with {name} = {value!r}, " for name, value in how.items())
        tables = {table.name: table for table in dataset.report(self.report, **how).tables}
        for name, columns in self.totals.items():
            _require_total(tables[name], columns, about)
        for (name, column), (view, of_view) in self.sums.items():
            shown = _without_total(tables[name])[column].sum()
            held = dataset.view(view).select(pl.col(of_view).sum()).collect().item()
            require(
                how or equal(shown, held),  # a setting may leave rows out
                f"{about}{name}.{column} sums up to {shown}, {view}.{of_view} to {held}",
                "show all rows, or one for the rest",
            )


def _key_of(*frames: pl.DataFrame) -> list[str]:
    """The columns by which rows of each differ: the first, else all but numbers; else all."""
    names = frames[0].schema
    for key in (list(names)[:1], [name for name, kind in names.items() if not kind.is_numeric()]):
        if key and not any(frame.select(key).is_duplicated().any() for frame in frames):
            return key
    return list(names)


def _of_groups(dataset: Dataset, number: int) -> Dataset:
    """One row of each record type, so many times, with texts of their own."""
    return copies(AlteredDataset(dataset, lambda frame: frame.head(1)), number)


def _words(report: Report) -> list[str]:
    notes = [item for s in report.sections if isinstance(s, Notes) for item in s.items]
    return [report.title, *report.intro, *notes]


def _is_total() -> pl.Expr:
    return pl.nth(0).cast(pl.String).str.to_lowercase() == "total"


def _has_total(table: Table) -> bool:
    return bool(table.rows.width) and table.rows.filter(_is_total()).height > 0


def _without_total(table: Table) -> pl.DataFrame:
    return table.rows.filter(_is_total().ne_missing(True))


def _require_total(table: Table, columns: tuple[str, ...], about: str) -> None:
    total = table.rows.filter(_is_total())
    require(
        total.height == 1,
        f"{about}table {table.name} has {total.height} rows whose first column is 'total'",
        "mend the report, or `totals` of the test class",
    )
    for column in columns:
        shown, held = total[column].item(), _without_total(table)[column].sum()
        require(
            equal(shown, held),
            f"{about}{table.name}: the total of {column} is {shown}, its rows sum up to {held}",
            "sum up what the table shows, or show a row for the rest",
        )
