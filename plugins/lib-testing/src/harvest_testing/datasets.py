"""What views and reports promise alike: the same answer for the same rows, whatever is around."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from harvest import Dataset, HarvestError, ReportSpec, View

from .lab.globals import elsewhere
from .promise import Conformance, does_not_apply, promise, raises_nothing, require
from .source.reading import require_same

ODD = ("no such value", "", "-1", "é;1")


class AlteredDataset(Dataset):
    """A dataset whose frames are changed as they are read; some record types have no rows.

    of: the record type whose frames are changed, all unless given.
    """

    def __init__(
        self,
        dataset: Dataset,
        change: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda frame: frame,
        absent: str | None = None,
        of: str | None = None,
    ):
        super().__init__(dataset.sink, dataset.manifest, dataset.plugins)
        self.change, self.absent, self.of = change, absent, of

    @property
    def record_types(self) -> dict[str, int]:
        return {n: rows for n, rows in super().record_types.items() if n != self.absent}

    def __getitem__(self, name: str) -> pl.LazyFrame:
        frame = super().__getitem__(name)
        frame = frame.head(0) if name == self.absent else frame
        return self.change(frame) if self.of in (None, name) else frame


class DatasetKit(Conformance):
    """The knobs and tests that views and reports share; an author writes ``dataset``.

    examples: setting -> a value that changes the answer, such as users type it.
    without_effect: setting -> why no value of it changes the answer for these datasets.
    """

    kind: ClassVar[str]
    examples: ClassVar[Mapping[str, Any]] = {}
    without_effect: ClassVar[Mapping[str, str]] = {}

    def dataset(self, directory: Path, inputs: int) -> Dataset:
        """Harvest so many inputs, 1 or 2, into an empty directory; gives the dataset, opened.

        The second input has other rows than the first, which is the same in both cases.
        """
        raise NotImplementedError(f"{type(self).__name__} needs dataset(self, directory, inputs)")

    def spec(self, dataset: Dataset) -> View | ReportSpec:
        """What the plugin declares."""
        raise NotImplementedError

    def lines(self, dataset: Dataset, **settings: Any) -> list[str]:
        """The answer, line by line, for a comparison."""
        raise NotImplementedError

    def one(self, directory: Path) -> Dataset:
        """The dataset of one input."""
        return self._made(directory, 1)

    def two(self, directory: Path) -> Dataset:
        """The dataset of two inputs, of which the first is that of ``one``."""
        return self._made(directory, 2)

    def _made(self, directory: Path, inputs: int) -> Dataset:
        place = directory / f"inputs {inputs}"
        place.mkdir()
        return self.dataset(place, inputs)

    @promise("the same rows give the same answer, in the same order, in any time zone")
    def test_the_answer_is_always_the_same(self, tmp_path: Path) -> None:
        dataset = self.two(tmp_path)
        expected = self.lines(dataset)
        require(expected, "the answer over two inputs is empty", "harvest inputs that give some")
        # often, for two rows that are shuffled come in one order every other time
        for zone in ("America/St_Johns", "Pacific/Auckland") * 6:
            with elsewhere(tmp_path, zone):
                found = self.lines(dataset)
            remedy = "sort by columns that identify a row, and use no zone but UTC or a setting's"
            require_same(found, expected, remedy, about=f"with TZ={zone}")

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
            require(
                self._lines_of_text(dataset, name, str(value)) == found,
                f"{name} = {str(value)!r}, as text, gives something else than {value!r}",
                "take text, as the command line gives it, and convert it",
            )
        for name in settings:
            for odd in ODD:
                self._require_words(partial(self.lines, dataset, **{name: odd}), f"{name}={odd!r}")

    def _lines_of_text(self, dataset: Dataset, name: str, text: str) -> list[str]:
        found: list[str] = []
        self._require_words(
            lambda: found.extend(self.lines(dataset, **{name: text})), f"{name}={text!r}"
        )
        return found

    @promise("a dataset without rows, or without one of the record types, is answered or refused "
             "with words")  # fmt: skip
    def test_absent_record_types_are_empty(self, tmp_path: Path) -> None:
        dataset = self.one(tmp_path)
        blank = Dataset.blank(dataset.plugins)
        self._require_words(lambda: self.lines(blank), "a dataset without rows")
        empty = AlteredDataset(dataset, lambda frame: frame.head(0))
        self._require_words(lambda: self.lines(empty), "empty frames")
        for absent in self.spec(dataset).requires:
            less = AlteredDataset(dataset, absent=absent)
            self._require_words(partial(self.lines, less), f"a dataset without {absent}")

    def _require_words(self, ask: Callable[[], object], about: str) -> None:
        with raises_nothing(
            f"{about}: ",
            "empty frames have no first row and no maximum; raise ValueError for a setting's "
            "value that is not taken",
        ):
            try:
                ask()
            except HarvestError as error:
                require(error.message, f"{about}: an error without words", "say what is missing")
