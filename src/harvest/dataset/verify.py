"""Check a dataset against its manifest: bytes, rows, schemas, and foreign files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs
import polars as pl

from harvest.api.sink import KEPT, PartFile
from harvest.errors import DatasetError, UnknownTypeError
from harvest.pipeline.record import read_record
from harvest.storage.files import in_place_of_files, link_on_the_way
from harvest.storage.history import changed, damaged_copies, lacking, read_state, restorable
from harvest.storage.lock import Holder, holder
from harvest.storage.manifest import GIVEN_UP, Manifest
from harvest.toolkit.plain import checksum_range, is_content, what_else

if TYPE_CHECKING:
    from .dataset import Dataset

LOOKS: Final = 50
"""Maximum number of checks while problems may be temporary states of a writer."""

Place: TypeAlias = tuple[str, int | None]
"""Path and offset of a file or piece."""


@attrs.frozen
class Problem:
    """A problem of a dataset.

    text: a sentence that names the file.
    files: files that have changed since they were written; in_state: whether they hold rejects.
    lasting: whether ``harvest verify --repair`` cannot fix it.
    passing: whether a commit in progress looks like this until it ends.
    state, record: run whose kept state, or whose record, is lost; it can be given up.
    """

    text: str
    files: frozenset[Place] = frozenset()
    in_state: bool = False
    lasting: bool = False
    passing: bool = False
    state: str | None = None
    record: str | None = None

    @property
    def lost(self) -> bool:
        """Whether ``harvest verify --repair --give-up`` gives up the lost state or record."""
        return self.state is not None or self.record is not None


def problems_of(dataset: Dataset) -> tuple[list[Problem], Holder | None]:
    """Return a dataset's problems, and the process that wrote to it meanwhile, if any.

    If a writer is at work, temporary states of its commit are ignored.
    """
    before: list[Problem] = []
    for _ in range(LOOKS):
        found = inspect(dataset)
        writer = holder(dataset.sink.state)
        if writer is not None:
            return [each for each in found if not each.passing], writer
        # if a writer has ended since, its temporary states are gone: check again
        if found == before or not any(each.passing for each in found):
            break
        before = found
    return found, None


def inspect(dataset: Dataset) -> list[Problem]:
    """Check a dataset once; return its problems."""
    manifest = dataset.manifest
    problems = list(_byte_problems(dataset))
    sound = manifest.parts.changed({}, concerned(manifest, problems))
    problems += _row_problems(dataset, attrs.evolve(manifest, parts=sound))
    problems += _stray_files(dataset)
    problems += _state_problems(dataset)
    named = "\n".join(problem.text for problem in problems)
    problems += [
        Problem(f"{path}: is {what}")
        for path, what in in_place_of_files(dataset.sink.state)
        if f"{path}: " not in named
    ]
    if problems and _says(Manifest.load(dataset.sink.state)) != _says(manifest):
        raise changed(dataset.sink)
    return problems


def _says(manifest: Manifest | None) -> object:
    """Return the content of a manifest on which the set of needed files depends."""
    return manifest and (manifest.token, manifest.kept, manifest.records)


def concerned(manifest: Manifest, problems: Iterable[Problem]) -> list[str]:
    """Return the keys of parts whose rows or rejects are in damaged files."""
    files: set[Place] = set()
    rejects: set[str] = set()
    for problem in problems:
        if problem.in_state:
            rejects |= {path for path, _ in problem.files}
        else:
            files |= problem.files
    keys: list[str] = []
    if files:
        keys += manifest.files.users_where(lambda file: (file.path, file.offset) in files)
    if rejects:
        held = manifest.parts.with_rejects()
        keys += [part.key for part in held if part.rejects and part.rejects.path in rejects]
    return list(dict.fromkeys(keys))


def _byte_problems(dataset: Dataset) -> Iterator[Problem]:
    named, sink = dataset.manifest.files, dataset.sink
    # a file may hold rows of several parts and several record types
    files = {(file.path, file.offset, file.sha256): file for file in named.distinct()}
    elsewhere: dict[Path, Path] = {}
    for base, held in ((sink.root, files.values()), (sink.state, named.rejects())):
        for file in held:
            problem = _check_bytes(base, file.path, file)
            if problem and base == sink.root:
                now = sink.held_in(file)
                if now != base / file.path:
                    elsewhere[base / file.path] = now
                    continue
                # a commit may have put the file there meanwhile
                problem = _check_bytes(base, file.path, file)
            if problem:
                place = (file.path, file.offset)
                yield Problem(problem, frozenset({place}), in_state=base == sink.state)
    for path, now in elsewhere.items():
        text = f"{path}: the last commit is not finished, its rows are in {now}"
        yield Problem(text, passing=True)


def _check_bytes(base: Path, name: str, file: PartFile) -> str | None:
    path = base / name
    place = real = link_on_the_way(base, name) or path
    if file.offset is not None:
        # a consolidated file is the location itself, which may be the user's own link
        place, real = path, Path(os.path.realpath(path))
    if (what := what_else(real)) is not None:
        return f"{place}: is {what}"
    if not path.is_file():
        return f"{path}: missing"
    if file.offset is not None:
        if checksum_range(path, file.offset, file.size_bytes) == file.sha256:
            return None
        end = file.offset + file.size_bytes
        return f"{path}: bytes {file.offset} to {end} have changed (checksum)"
    size = path.stat().st_size
    if size != file.size_bytes:
        return f"{path}: has {size} bytes, the manifest says {file.size_bytes}"
    if not is_content(path, file.sha256, file.size_bytes):
        return f"{path}: its content has changed (checksum)"
    return None


def _row_problems(dataset: Dataset, sound: Manifest) -> Iterator[Problem]:
    """Yield record types with files that do not match the declaration, or have other row counts."""
    for name, rows in sound.record_types().items():
        if not rows:
            continue
        files = sound.files.of_type(name)
        try:
            text = _count(dataset, name, files, rows)
        except UnknownTypeError as error:
            yield Problem(f"rows of {name} are not checked: {error}", lasting=True)
            continue
        if text is not None:
            # check each file, to name the faulty ones
            bad = [f for f in files if _count(dataset, name, [f], _rows_in(f, name, sound))]
            names = ", ".join(sorted({file.path for file in bad})[:3])
            places = frozenset((file.path, file.offset) for file in bad)
            yield Problem(f"{names or name}: {text}", places)


def _rows_in(file: PartFile, name: str, manifest: Manifest) -> int:
    if file.record_type == name:
        return file.rows
    place = (file.path, file.offset)
    users = manifest.files.users_where(lambda other: (other.path, other.offset) == place)
    return sum(part.rows.get(name, 0) for part in manifest.parts.pick(users).values())


def _count(dataset: Dataset, name: str, files: Sequence[PartFile], rows: int) -> str | None:
    """Say what is wrong with a type's rows in these files, or None; raise UnknownTypeError."""
    try:
        kind = dataset.record_type(name)
        frame = dataset.sink.scan(files, kind)
        found = frame.select(pl.len()).collect().item()
        # row counts come from file footers; reading one row checks the columns
        frame.head(1).collect()
    except (pl.exceptions.PolarsError, DatasetError, OSError) as error:
        return f"rows of {name} cannot be read as declared: {error}"
    return None if found == rows else f"has {found} rows of {name}, the manifest says {rows}"


def _stray_files(dataset: Dataset) -> Iterator[Problem]:
    """Yield foreign files and folders that readers of the directories would take for rows."""
    root = dataset.sink.root
    files = dataset.manifest.files.distinct()
    yield from _bytes_behind(root, files)
    named = {root / file.path for file in files if file.offset is None}
    kinds = {(path.parent, path.suffix) for path in named}
    for folder, suffix in sorted(kinds):
        if not folder.is_dir() or folder == root:
            continue
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not any(each.is_relative_to(path) for each in named):
                yield Problem(
                    f"{path}: a folder that is not the dataset's; readers that know its form, for "
                    "example Delta's, may read other rows. Move it away",
                    lasting=True,
                )
        for path in sorted(folder.glob(f"*{suffix}")):
            if path not in named:
                yield Problem(
                    f"{path}: does not belong to the dataset: left by an interrupted run, or put "
                    "there by someone",
                    passing=True,
                )


def _bytes_behind(root: Path, files: Iterable[PartFile]) -> Iterator[Problem]:
    """Yield a problem if bytes follow the last row of a consolidated file."""
    ends = {(f.path, f.offset): f.offset + f.size_bytes for f in files if f.offset is not None}
    if not ends:
        return
    last = max(ends, key=ends.__getitem__)
    path = root / last[0]
    more = path.stat().st_size - ends[last] if path.is_file() else 0
    if more > 0:
        yield Problem(
            f"{path}: {more:,} bytes follow its last row", frozenset({last}), passing=True
        )


def _state_problems(dataset: Dataset) -> Iterator[Problem]:
    manifest, state = dataset.manifest, dataset.sink.state
    for run in manifest.runs:
        if manifest.records.get(run) == GIVEN_UP:
            continue
        try:
            read_record(dataset.sink, manifest, run)
        except DatasetError as error:
            yield Problem(f"{error.where}: {error.message}", lasting=True, record=run)
    for path in damaged_copies(state, manifest):
        what = "damaged" if os.path.lexists(path) else "missing"
        text = f"{path}: {what}; it is a copy, from which the manifest is restored"
        yield Problem(text, passing=True)
    for run in manifest.kept:
        try:
            files = lacking(read_state(state, run).check(), manifest).values()
            kept = {file.sha256: file.size_bytes for _, file in files}
        except DatasetError as error:
            lost = not restorable(state, run)
            text = f"{error.where}: {error.message}"
            yield Problem(text, lasting=lost, state=run if lost else None)
            continue
        for digest in sorted(kept):
            path = state / KEPT / digest
            if not is_content(path, digest, kept[digest]):
                what = "damaged" if os.path.lexists(path) else "missing"
                yield Problem(
                    f"{path}: {what}; the state of run {run} cannot be restored",
                    lasting=True,
                    state=run,
                )
