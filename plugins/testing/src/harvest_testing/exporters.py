"""The conformance kit for exporters: they write a dataset completely, or nothing."""

import contextlib
import errno
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from harvest import Dataset, HarvestError

from .datasets import AlteredDataset, copied, failing
from .lab.files import differing, files_below
from .lab.globals import leaving_nothing, require_closed
from .promise import Conformance, does_not_apply, promise, require

ODD_TEXT = "~\"'`;,|<&\\ \t\r\n\u2028é\U0001f600"
"""Suffix for all texts of a dataset: quotes, separators, line ends, non-ASCII characters."""

MANY = 20_000
"""Minimum number of rows of the large dataset."""

REPORTED = (HarvestError, OSError)
WHOLE = (
    "write below harvest.toolkit.files.new_directory(target), or to what replacing(target) gives: "
    "each is there as a whole, or not at all"
)


class ExporterConformance(Conformance):
    """Tests of everything that an exporter promises; an author's test class inherits them.

    exporter: name of the exporter. settings: its settings in all tests.
    target: name of the file or directory to write, with the suffix that the exporter requires.
    deterministic: whether the same dataset gives the same bytes each time.
    """

    exporter: ClassVar[str]
    target: ClassVar[str] = "exported"
    deterministic: ClassVar[bool] = True

    def dataset(self, directory: Path, inputs: int) -> Dataset:
        """Harvest ``inputs`` inputs (1 or 2) into an empty directory; return the open dataset."""
        raise NotImplementedError(f"{type(self).__name__} needs dataset(self, directory, inputs)")

    def rows_of(self, target: Path, record_type: str) -> int:
        """Count the rows of a record type in an export, with the format's own tools."""
        does_not_apply(
            "a method rows_of(self, target, record_type) would count rows by the format's own tools"
        )

    def write(self, dataset: Dataset, target: Path, **more: Any) -> list[Path]:
        """Export as ``harvest export`` does; return the files that the exporter names.

        If the exporter returns a text instead of paths, return all files below the target.
        """
        named = dataset.export(self.exporter, target, **{**self.settings, **more})
        return sorted(_files_of(target)) if named.text else named

    @promise("the files that it names are there, and it writes no others")
    def test_it_names_what_it_writes(self, tmp_path: Path) -> None:
        dataset, target = self._prepared(tmp_path)
        with leaving_nothing(tmp_path, "write at the target alone"):
            named = {path.resolve() for path in self.write(dataset, target)}
        require_closed(target.parent)
        found = _files_of(target.parent)
        require(
            named == found and named,
            f"it names {_names(named - found) or 'no file'} that is not there, and does not name "
            f"{_names(found - named) or 'none'}",
            "give the paths of all files that were written, and of no others",
        )

    @promise("what is there is replaced as a whole, or refused with words and left")
    def test_what_is_there_is_whole(self, tmp_path: Path) -> None:
        dataset, target = self._prepared(tmp_path)
        self.write(dataset, target)
        for words, changed in (
            ("fewer rows", AlteredDataset(dataset, lambda frame: frame.head(1))),
            ("all rows again", dataset),
            ("as many rows with other texts", AlteredDataset(dataset, partial(_ending, "~"))),
            ("a record type less", AlteredDataset(dataset, absent=[*dataset][-1])),
        ):
            before = files_below(target.parent)
            try:
                self.write(changed, target)
            except (*REPORTED, ValueError):
                after = files_below(target.parent)
                require(after == before, "it refuses, and has changed it", WHOLE)
                continue
            other = tmp_path / words / target.name
            other.parent.mkdir()
            self.write(changed, other)
            found, wanted = files_below(target.parent), files_below(other.parent)
            about = f"an export of {words} instead of one is another than next to it"
            require(
                self._complete(found, wanted), f"{about}: {differing(found, wanted)[:200]}", WHOLE
            )

    @promise("no row is lost or doubled")
    def test_all_rows_are_written(self, tmp_path: Path) -> None:
        for inputs in (1, 2):
            place = tmp_path / f"of {inputs}"
            dataset, target = self._prepared(place, inputs)
            self.write(dataset, target)
            self._require_rows(dataset, target, 1)
        times = MANY // max(1, sum(dataset.record_types.values())) + 1
        large = target.with_name(f"large-{target.name}")
        self.write(AlteredDataset(dataset, partial(copied, times)), large)
        self._require_rows(dataset, large, times)
        for words, change in (("equal values", _alike), ("odd texts", partial(_ending, ODD_TEXT))):
            place = target.with_name(f"{words} {target.name}")
            with contextlib.suppress(*REPORTED):  # a format may be unable to represent them
                self.write(AlteredDataset(dataset, change), place)
                self._require_rows(dataset, place, 1, f", with {words},")

    def _require_rows(self, dataset: Dataset, target: Path, times: int, how: str = "") -> None:
        for name, rows in dataset.record_types.items():
            found = self.rows_of(target, name)
            require(
                found == rows * times,
                f"{found} rows of {name}{how} are written of {rows * times}",
                "write all rows of each record type",
            )

    @promise("where the dataset cannot be read to its end, what is there stays")
    def test_what_is_there_stays_when_reading_fails(self, tmp_path: Path) -> None:
        dataset, target = self._prepared(tmp_path)
        self.write(dataset, target)
        before = files_below(target.parent)
        unreadable = OSError(errno.EIO, "the kit's own disk cannot be read")
        cut = AlteredDataset(dataset, partial(failing, unreadable), of=[*dataset][-1])
        with contextlib.suppress(*REPORTED, pl.exceptions.PolarsError):
            self.write(cut, target)
            does_not_apply("it does not read all record types")
        require(
            files_below(target.parent) == before,
            "a dataset that could not be read has changed what was there",
            WHOLE,
        )

    def _complete(self, found: Mapping[str, bytes], whole: Mapping[str, bytes]) -> bool:
        """Compare an export with a complete one; only names and sizes unless ``deterministic``."""
        if self.deterministic:
            return found == whole
        return {n: len(d) for n, d in found.items()} == {n: len(d) for n, d in whole.items()}

    def _prepared(self, directory: Path, inputs: int = 1) -> tuple[Dataset, Path]:
        """Return the dataset, and a target path in an empty directory."""
        (directory / "inputs").mkdir(parents=True)
        (directory / "target").mkdir()
        return self.dataset(directory / "inputs", inputs), directory / "target" / self.target


def _files_of(directory: Path) -> set[Path]:
    return {path.resolve() for path in directory.rglob("*") if path.is_file()}


def _names(paths: Any) -> str:
    return ", ".join(sorted(Path(path).name for path in paths)[:5])


def _ending(end: str, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Append a suffix to all texts."""
    return frame.with_columns(pl.selectors.string() + end)


def _alike(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Give all rows the values of the first row, with distinct positions."""
    kind = frame.collect_schema()["position"]
    number = pl.int_range(1, pl.len() + 1).cast(kind).alias("position")
    return frame.with_columns(pl.exclude("position").first(), number)
