"""The parameters that an author declares about a source, and helpers of the tests."""

import contextlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from harvest import Partition, Source, SourceError
from harvest_testing.lab.damage import CORRUPTIONS, Corruption
from harvest_testing.promise import BrokenPromise, Conformance, does_not_apply, require

from .reading import Piece, planned, read_all, require_sound

DELIMITERS = (b"\t", b"|", b";", b",")

LONG_AGO = 1_000_000_000
"""An old file time, in seconds since 1970, which no file made by a test has."""


class SourceKit(Conformance):
    """The parameters of the kit for sources; an author sets ``source`` and defines ``sample``.

    source: the class under test, which can be imported by its module's name.
    settings: the source's settings (key -> value) in all tests.
    units: number of input units in the sample, counted by hand; None to skip the comparison.
    corruptions: kinds of damage by name; leave out those your format cannot distinguish from data.
    blocks: ``"package.module:CONSTANT"`` or ``"package.module:function.parameter"`` (a keyword)
        -> sizes of your reader's blocks; the rows must be the same with each size.
    partition_setting: (setting, values) of a setting that divides inputs into partitions.
    header_lines: number of lines before the first unit, for formats in which each line is a unit
        and the line number is its position; None for any other format.
    counted: reason -> number of the sample's units that are filtered or merged for this reason;
        0 for a reason that does not occur in the sample. None if the sample is unknown.
    examples: setting -> a value that changes the result of reading the sample; None as above.
    without_effect: setting -> why no value of it changes the result.
    names_matter: True if a file's name is part of its format, so that tests keep the name.
    existence_is_a_row: True if each file gives a row with its times, whatever its content.
    """

    source: ClassVar[type[Source]]
    units: ClassVar[int | None] = None
    corruptions: ClassVar[Mapping[str, Corruption]] = CORRUPTIONS
    blocks: ClassVar[Mapping[str, Sequence[int]]] = {}
    partition_setting: ClassVar[tuple[str, Sequence[Any]] | None] = None
    header_lines: ClassVar[int | None] = None
    counted: ClassVar[Mapping[str, int] | None] = {}
    examples: ClassVar[Mapping[str, Any] | None] = {}
    without_effect: ClassVar[Mapping[str, str]] = {}
    names_matter: ClassVar[bool] = False
    existence_is_a_row: ClassVar[bool] = False

    def sample(self, directory: Path) -> Path | str:
        """Write a small valid input below an empty directory; return the location to read.

        The more kinds of rows and rejects the input has, the more the tests cover.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method sample(self, directory)")

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        """Whether a damaged file's content has no unit, for example only a header."""
        return not data.strip(b" \t\r\n")

    def add_field(self, path: Path, data: bytes, name: str, value: str) -> bytes | None:
        """Add a field to each unit of a file's content; return None if fields have no names.

        The default handles JSON, JSON on each line, and delimited columns under a header line.
        """
        if self.header_lines == 1:
            return _with_column(data, name.encode(), value.encode())
        with contextlib.suppress(ValueError):
            return json.dumps(_with_member(json.loads(data), name, value)).encode()
        with contextlib.suppress(ValueError):
            lines = [json.loads(line) for line in data.splitlines()]
            more = [json.dumps(_with_member(line, name, value)) for line in lines]
            return "".join(f"{line}\n" for line in more).encode()
        return None

    def choices(self) -> dict[str, list[str]]:
        """Make one test for each kind of damage."""
        return {"corruption": list(self.corruptions)}

    # --- helpers of the tests ---------------------------------------------------------------------

    def open(self, location: Path | str, **more: Any) -> Source:
        """Make the source for a location, configured as in a run; more: further settings."""
        source: Source = self.made("source", location, **more)
        return source

    def make(self, directory: Path, name: str = "sample") -> Path | str:
        """Write a new sample below a directory; return its location."""
        place = directory / name
        place.mkdir()
        return self.sample(place)

    def make_files(self, directory: Path) -> Path:
        """Write a new sample; return its path; skip the test if it is not a file or directory."""
        location = self.make(directory)
        if not Path(location).exists():
            does_not_apply(f"the location {location!r} is not a file")
        return Path(location)

    def several_files(self, location: Path | str) -> Path:
        """Return a directory of two origins or more, after copying one file; or skip the test."""
        folder = Path(location)
        if folder.is_file() and not self.names_matter:
            stem, dot, suffix = folder.name.partition(".")
            copy_of(folder, folder.with_name(f"{stem}-2{dot}{suffix}"))
            folder = folder.parent
        origins: set[str] = set()
        with contextlib.suppress(SourceError):
            origins = {partition.origin for partition in planned(self.open(folder))}
        if len(origins) < 2:
            does_not_apply("the sample is one partition; give it two to compare them")
        return folder

    def read(self, location: Path | str, **more: Any) -> list[Piece]:
        """Read everything at a location, and check each piece."""
        return self.checked(read_all(self.open(location, **more)))

    def checked(self, pieces: list[Piece]) -> list[Piece]:
        """Check each piece with ``require_sound``; return the pieces."""
        for piece in pieces:
            require_sound(piece)
        return pieces

    def partitions(self, source: Source) -> list[Partition]:
        """Plan the sample; require partitions, each with an id of its own."""
        try:
            partitions = planned(source)
        except SourceError as error:
            raise BrokenPromise(f"plan() refuses the sample: {error}", "mend sample()") from error
        require(partitions, "plan() gives no partition for the sample", "mend sample() or plan()")
        twice = [k for k, n in Counter((p.id, p.origin) for p in partitions).items() if n > 1]
        require(not twice, f"two partitions are called {twice}", "give each an id of its own")
        return partitions


def files_of(location: Path | str) -> list[Path]:
    """Return all files of a sample, sorted by path; a file that links lead to appears once."""
    top = Path(location)
    if not top.is_dir():
        return [top] if top.exists() else []
    entered = {os.path.realpath(top)}
    files: dict[str, Path] = {}
    for folder, folders, names in os.walk(top, followlinks=True):
        reals = {name: os.path.realpath(Path(folder, name)) for name in sorted(folders)}
        folders[:] = [name for name, real in reals.items() if real not in entered]
        entered.update(reals.values())
        for path in (Path(folder, name) for name in names):
            real = os.path.realpath(path)
            if path.is_file() and not (path.is_symlink() and real in files):
                files[real] = path
    return sorted(files.values())


def is_input(path: Path, partition: Partition) -> bool:
    """Whether a file is an input of a partition, possibly by another path through links."""
    real = os.path.realpath(path)
    return any(os.path.realpath(name) == real for name in partition.inputs)


def copy_of(location: Path, target: Path) -> Path:
    """Copy the sample to another path with its times and links, creating files in reverse order.

    A link to a path within the sample leads to the same path within the copy.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _copy(location, target, location)
    return target


def _copy(path: Path, target: Path, top: Path) -> None:
    if path.is_symlink() and path != top:
        leads_to = os.path.normpath(path.parent / path.readlink())
        within = Path(leads_to).is_relative_to(top)
        target.symlink_to(os.path.relpath(leads_to, path.parent) if within else leads_to)
    elif path.is_dir():
        target.mkdir()
        for name in sorted(os.listdir(path), reverse=True):  # noqa: PTH208 - names alone
            _copy(path / name, target / name, top)
        shutil.copystat(path, target)
    else:
        shutil.copy2(path, target)


def _with_member(found: Any, name: str, value: str) -> Any:
    """Add a member to a JSON object, to each of a list, or instead to the objects in its lists."""
    if isinstance(found, list):
        return [_with_member(item, name, value) for item in found]
    if not isinstance(found, dict):
        raise ValueError("no object")
    lists = {key: v for key, v in found.items() if isinstance(v, list) and v
             and all(isinstance(item, dict) for item in v)}  # fmt: skip
    if not lists:
        return {**found, name: value}
    return found | {key: [{**item, name: value} for item in inner] for key, inner in lists.items()}


def _with_column(data: bytes, name: bytes, value: bytes) -> bytes | None:
    first, *others = data.splitlines() or [b""]
    delimiter = max(DELIMITERS, key=first.count)
    fields = first.count(delimiter)
    if not fields:
        return None
    more = [line + delimiter + value if line.count(delimiter) == fields else line
            for line in others]  # fmt: skip
    return b"\n".join([first + delimiter + name, *more, b""])
