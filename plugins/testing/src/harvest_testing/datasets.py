"""Promises that views and reports share: the same rows give the same result in any environment.

A report has these promises alone.
"""

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from harvest import Dataset, HarvestError, ReportSpec, View
from harvest_report import Notes

from .lab.globals import elsewhere, leaving_nothing, require_unchanged, snapshot
from .promise import Conformance, does_not_apply, promise, raises_nothing, require
from .source.reading import require_same

ODD = ("no such value", "", "-1", "é;1")


class AlteredDataset(Dataset):
    """A dataset whose frames are changed as they are read.

    of: the only record type to change; None for all. absent: a record type that appears empty.
    """

    def __init__(
        self,
        dataset: Dataset,
        change: Callable[[pl.LazyFrame], pl.LazyFrame] | None = None,
        absent: str | None = None,
        of: str | None = None,
    ):
        super().__init__(dataset.sink, dataset.manifest, dataset.plugins)
        self.plain = dataset  # may itself be an AlteredDataset
        self.change, self.absent, self.of = change or _as_it_is, absent, of

    @property
    def record_types(self) -> dict[str, int]:
        return {n: rows for n, rows in self.plain.record_types.items() if n != self.absent}

    def __getitem__(self, name: str) -> pl.LazyFrame:
        frame = self.plain[name]
        frame = frame.head(0) if name == self.absent else frame
        return self.change(frame) if self.of in (None, name) else frame


class DatasetKit(Conformance):
    """Parameters and tests that views and reports share; an author defines ``dataset``.

    examples: setting -> a value that changes the result, as users type it.
    without_effect: setting -> why no value of it changes the result for these datasets.
    null_says: ``record_type.column`` -> the meaning of its null, unless that is "unknown".
    """

    examples: ClassVar[Mapping[str, Any]] = {}
    without_effect: ClassVar[Mapping[str, str]] = {}
    null_says: ClassVar[Mapping[str, str]] = {}

    def dataset(self, directory: Path, inputs: int) -> Dataset:
        """Harvest ``inputs`` inputs (1 or 2) into an empty directory; return the open dataset.

        The first input is the same for 1 and 2. The second input has different rows.
        """
        raise NotImplementedError(f"{type(self).__name__} needs dataset(self, directory, inputs)")

    def spec(self, dataset: Dataset) -> View | ReportSpec:
        """Return the plugin's declaration of the view or report."""
        raise NotImplementedError

    def lines(self, dataset: Dataset, **settings: Any) -> list[str]:
        """Return the result for some settings as lines that can be compared."""
        raise NotImplementedError

    def one(self, directory: Path, inputs: int = 1) -> Dataset:
        """Make a dataset of ``inputs`` inputs below a directory."""
        place = directory / f"inputs {inputs}"
        place.mkdir()
        return self.dataset(place, inputs)

    def two(self, directory: Path) -> Dataset:
        """Make a dataset of two inputs; the first is that of ``one``."""
        return self.one(directory, 2)

    @promise("the same rows give the same answer, in the same order, in any time zone")
    def test_the_answer_is_always_the_same(self, tmp_path: Path) -> None:
        dataset = self.two(tmp_path)
        expected = self.lines(dataset)
        require(expected, "the answer over two inputs is empty", "harvest inputs that give some")
        # repeated, because two rows in random order are in the expected order half of the time
        for zone in ("America/St_Johns", "Pacific/Auckland") * 6:
            with elsewhere(tmp_path, zone):
                found = self.lines(dataset)
            remedy = "sort by columns that identify a row, and use no zone but UTC or a setting's"
            require_same(found, expected, remedy, about=f"with TZ={zone}")

    @promise("the answer is of the rows that are there now, whatever was asked before")
    def test_no_answer_is_kept(self, tmp_path: Path) -> None:
        place, other = tmp_path / "asked before", tmp_path / "never asked"
        place.mkdir()
        self.lines(self.dataset(place, 1))
        shutil.rmtree(place)
        place.mkdir()
        other.mkdir()
        expected = [
            line.replace(str(other), str(place)) for line in self.lines(self.dataset(other, 2))
        ]
        found = self.lines(self.dataset(place, 2))
        remedy = "keep no rows by their place: others may lie there when the next one asks"
        require_same(found, expected, remedy, about="a dataset where another one was")

    @promise("asking leaves no file, prints nothing and leaves the process as it is")
    def test_asking_leaves_nothing_behind(self, tmp_path: Path) -> None:
        dataset = self.two(tmp_path)
        self.lines(dataset)
        before = snapshot(later=True)
        with leaving_nothing(
            tmp_path, "give rows and words alone; whoever asks decides what becomes of them"
        ):
            self.lines(dataset)
        require_unchanged(before, "asking")

    @promise("rows in another order give the same answer in the same order")
    def test_ties_have_an_order(self, tmp_path: Path) -> None:
        dataset = self.two(tmp_path)
        remedy = (
            "sort by columns that identify a row, the last of them too; take no first or last row "
            "of a group without an order, such as origin and position"
        )
        alikes = {"": _as_it_is, ", all numbers 0": _all_zero, ", all times one": _all_at_once}
        for alike, made in alikes.items():  # equal values, so that any sort key has ties
            tied = AlteredDataset(dataset, made)
            expected = self.lines(tied)
            for words, change in (("backwards", pl.LazyFrame.reverse), ("shuffled", _shuffled)):
                found = self.lines(AlteredDataset(tied, change))
                about = f"with the rows of the dataset {words}{alike}"
                require_same(found, expected, remedy, about=about)

    @promise("settings are declared, typed, have an effect, and refuse what they do not take")
    def test_settings_have_an_effect(self, tmp_path: Path) -> None:
        dataset = self.two(tmp_path)
        settings = self.spec(dataset).settings
        if not settings:
            does_not_apply("it has no settings")
        missing = set(settings) - set(self.examples) - set(self.without_effect)
        require(
            not missing,
            f"no example of {', '.join(sorted(missing))}",
            "add a value that changes the answer to `examples` of the test class, or say in "
            "`without_effect` why there is none",
        )
        plain = self.lines(dataset)
        for name, value in self.examples.items():
            found = self.lines(dataset, **{name: value})
            require(
                found != plain,
                f"{name} = {value!r} changes nothing",
                "let the setting do what it says, or mend `examples` of the test class",
            )
            typed = partial(self.lines, dataset, **{name: str(value)})
            require(
                self._require_words(typed, f"{name}={str(value)!r}") == found,
                f"{name} = {str(value)!r}, as text, gives something else than {value!r}",
                "take text, as the command line gives it, and convert it",
            )
        for name in settings:
            for odd in ODD:
                self._require_words(partial(self.lines, dataset, **{name: odd}), f"{name}={odd!r}")

    @promise("a dataset without rows, or without one of the record types, is answered or refused "
             "with words")  # fmt: skip
    def test_absent_record_types_are_empty(self, tmp_path: Path) -> None:
        dataset = self.one(tmp_path)
        requires = self.spec(dataset).requires
        kinds = dataset.plugins.record_types()
        optional = {c.name for name in requires for c in kinds[name].columns if c.nullable}
        little = {
            "a dataset without rows": Dataset.blank(dataset.plugins),
            "empty frames": AlteredDataset(dataset, lambda frame: frame.head(0)),
            **{f"a dataset without {n}": AlteredDataset(dataset, absent=n) for n in requires},
            "one row of each type": AlteredDataset(dataset, lambda frame: frame.head(1)),
            "all columns null that may be": AlteredDataset(dataset, partial(nulled, optional)),
        }
        for words, less in little.items():
            self._require_words(partial(self.lines, less), words)

    def _require_words(self, ask: Callable[[], list[str]], about: str) -> list[str]:
        """Return the answer; require that a refusal, which gives no lines, has words."""
        with raises_nothing(
            f"{about}: ",
            "empty frames have no first row and no maximum; raise ValueError for a setting's "
            "value that is not taken",
        ):
            try:
                return ask()
            except HarvestError as error:
                require(error.message, f"{about}: an error without words", "say what is missing")
        return []


class ReportConformance(DatasetKit):
    """Tests of everything that a report promises; an author's test class inherits them.

    report: name of the report.
    """

    report: ClassVar[str]

    def spec(self, dataset: Dataset) -> ReportSpec:
        return dataset.plugins.report(self.report)

    def lines(self, dataset: Dataset, **settings: Any) -> list[str]:
        report = dataset.report(self.report, **settings)
        notes = [item for s in report.sections if isinstance(s, Notes) for item in s.items]
        shown = [f"{table.name}: {row!r}" for table in report.tables for row in table.data.rows()]
        return [report.title, *report.intro, *notes, *shown]


def _as_it_is(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame


def _shuffled(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.sort(pl.int_range(pl.len()).hash(4711))


def nulled(columns: set[str], frame: pl.LazyFrame) -> pl.LazyFrame:
    """Make some columns null in all rows, if the frame has them."""
    held = frame.collect_schema()
    nulls = [pl.lit(None, held[name]).alias(name) for name in sorted(columns & held.keys())]
    return frame.with_columns(nulls)


def _all_zero(frame: pl.LazyFrame) -> pl.LazyFrame:
    numbers = pl.selectors.numeric() - pl.selectors.by_name("position")
    return frame.with_columns(numbers * 0)


def _all_at_once(frame: pl.LazyFrame) -> pl.LazyFrame:
    times = pl.selectors.datetime()
    return frame.with_columns(pl.when(times.is_not_null()).then(times.min()))


def failing(error: Exception, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Make a frame of which no row can be read."""

    def fail(_: pl.DataFrame) -> pl.DataFrame:
        raise error

    return frame.map_batches(fail, schema=frame.collect_schema())


def copied(times: int, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Multiply the rows of a frame: copies have equal numbers and times, but distinct texts."""
    texts = [n for n, kind in frame.collect_schema().items() if kind in (pl.String, pl.Categorical)]
    number = pl.LazyFrame({"copy of": range(times)})
    suffix = pl.when(pl.col("copy of") > 0).then("~" + pl.col("copy of").cast(pl.String))
    own = (pl.col(n).cast(pl.String) + suffix.otherwise(pl.lit("")) for n in texts)
    return frame.join(number, how="cross").with_columns(own).drop("copy of")
