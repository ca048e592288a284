"""What an author declares to the kit about a source, and what its tests are made of."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from harvest import Partition, Source, SourceError
from harvest_testing.lab.damage import CORRUPTIONS, Corruption
from harvest_testing.promise import BrokenPromise, Conformance, does_not_apply, require

from .reading import Piece, planned, read_all, require_sound

DELIMITERS = (b"\t", b"|", b";", b",")

LONG_AGO = 1_000_000_000
"""A time of files, in seconds since 1970: that of no file that a test makes."""


class SourceKit(Conformance):
    """The knobs of the kit for sources; an author sets ``source`` and writes ``sample``.

    source: the class under test, importable by its module's name.
    settings: key -> value of its settings, for all tests.
    units: how many input units the sample holds, counted by hand; None where that says nothing.
    corruptions: kinds of damage by name; leave out what your format cannot distinguish from data.
    blocks: ``"package.module:CONSTANT"`` or ``"package.module:function.parameter"`` (a keyword)
        -> values: sizes of your reader's blocks; with each the rows must be the same.
    partition_setting: a setting that changes how inputs are cut into partitions, with values.
    header_lines: for a format of lines, each a unit that its number identifies: how many lines
        come before the first of them; None for any other format.
    counted: reason -> how many units of the sample are filtered or merged for it; one that only
        other input has counts 0.  None where the class knows no sample.
    examples: setting -> a value that changes what comes of the sample; None as above.
    without_effect: setting -> why no value of it changes what comes of the sample.
    names_matter: True where a file's name is part of its format, so that tests leave it alone.
    existence_is_a_row: True where that a file exists is a row, with its times, whatever is in it.
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
        """Write a small sound input below an empty directory; gives the location to read.

        The more kinds of rows and rejects it has, the more the tests see.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method sample(self, directory)")

    def holds_nothing(self, path: Path, data: bytes) -> bool:
        """Whether a damaged file's content has no unit by your format (a header alone, say)."""
        return not data.strip(b" \t\r\n")

    def add_field(self, path: Path, data: bytes, name: str, value: str) -> bytes | None:
        """A file's content with one field more in its units; None where fields have no names.

        By default, objects of JSON, or of JSON on each line, and columns under a header get one.
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
        """One test for every kind of damage."""
        return {"corruption": list(self.corruptions)}

    # --- what tests are made of -------------------------------------------------------------------

    def open(self, location: Path | str, **more: Any) -> Source:
        """The source for a location, configured as a run would."""
        source: Source = self.made("source", location, **more)
        return source

    def make(self, directory: Path, name: str = "sample") -> Path | str:
        """A fresh sample below a directory; gives its location."""
        place = directory / name
        place.mkdir()
        return self.sample(place)

    def make_files(self, directory: Path) -> Path:
        """A fresh sample that is a file or directory; ends the test where it is not one."""
        location = self.make(directory)
        if not Path(location).exists():
            does_not_apply(f"the location {location!r} is not a file")
        return Path(location)

    def several_files(self, location: Path | str) -> Path:
        """A sample of several files; one of a single file is given another, and is a directory."""
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
        """Everything at a location, checked to be sound."""
        return self.checked(read_all(self.open(location, **more)))

    def checked(self, pieces: list[Piece]) -> list[Piece]:
        """The pieces, after looking at each."""
        for piece in pieces:
            require_sound(piece)
        return pieces

    def partitions(self, source: Source) -> list[Partition]:
        """What the source plans for the sample, which must be something."""
        try:
            partitions = planned(source)
        except SourceError as error:
            raise BrokenPromise(f"plan() refuses the sample: {error}", "mend sample()") from error
        require(partitions, "plan() gives no partition for the sample", "mend sample() or plan()")
        twice = [k for k, n in Counter((p.id, p.origin) for p in partitions).items() if n > 1]
        require(not twice, f"two partitions are called {twice}", "give each an id of its own")
        return partitions


def files_of(location: Path | str) -> list[Path]:
    """All files of a sample, in the order of their names; each once, whatever links lead to it."""
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


@contextlib.contextmanager
def mended(path: Path) -> Iterator[bytes]:
    """A file's content, which it has again in the end, with its times."""
    data, times = path.read_bytes(), path.stat()
    try:
        yield data
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def is_input(path: Path, partition: Partition) -> bool:
    """Whether a partition names a file, by whichever path: links may lead to it, too."""
    real = os.path.realpath(path)
    return any(os.path.realpath(name) == real for name in partition.inputs)


def copy_of(location: Path, target: Path) -> Path:
    """The sample once more at another path, with the same times and links, made in another order.

    A link to a place within the sample leads to the same place within the copy.
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
    """An object, or each of a list, with a member more; where it has lists of them, these."""
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
