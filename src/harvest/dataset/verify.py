"""Checking a dataset against its manifest: bytes, rows, schemas, and that nothing is beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import polars as pl

from harvest.api.sink import PartFile
from harvest.errors import DatasetError, UnknownTypeError
from harvest.pipeline.reread import read_record
from harvest.storage.files import link_on_the_way
from harvest.storage.history import KEPT, lacking, read_state
from harvest.storage.part import Part
from harvest.toolkit.files import checksum, checksum_range

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["Problem", "inspect", "verify"]


@attrs.frozen
class Problem:
    """Something that is wrong with a dataset.

    text: a sentence that names the file; parts: keys of those whose rows are concerned.
    """

    text: str
    parts: tuple[str, ...] = ()


def verify(dataset: Dataset) -> list[str]:
    """Sentences naming everything that is missing, damaged, of another shape or too much.

    Reads all files once for their checksums, and once more to count their rows.
    """
    return [problem.text for problem in inspect(dataset)]


def inspect(dataset: Dataset) -> list[Problem]:
    """What is wrong with a dataset; empty when all is well."""
    problems = list(_byte_problems(dataset))
    bad = {key for problem in problems for key in problem.parts}
    problems += _row_problems(dataset, [part for part in dataset.manifest if part.key not in bad])
    problems += _stray_files(dataset)
    problems += _history_problems(dataset)
    return problems


def _byte_problems(dataset: Dataset) -> Iterator[Problem]:
    """Files whose bytes are not those that were written."""
    owners: dict[tuple[Path, str, PartFile], list[str]] = {}
    for part in dataset.manifest:
        for file in part.files:
            # a file may hold rows of several parts and several record types
            whole = attrs.evolve(file, rows=0, record_type="", first_row=None)
            owners.setdefault((dataset.sink.root, file.path, whole), []).append(part.key)
        if part.rejects is not None:
            rejects = part.rejects
            owners.setdefault((dataset.sink.state, rejects.path, rejects), []).append(part.key)
    for (base, path, file), keys in owners.items():
        problem = _check_bytes(base, path, file)
        if problem:
            yield Problem(problem, tuple(dict.fromkeys(keys)))


def _check_bytes(base: Path, name: str, file: PartFile) -> str | None:
    path = base / name
    # a consolidated file is the location itself, which may be a link of the user's
    link = link_on_the_way(base, name) if file.offset is None else None
    if link is not None:
        return f"{link}: is a symbolic link, which may lead out of the dataset"
    if not path.is_file():
        return f"{path}: missing"
    if file.offset is not None:
        return _check_range(path, file.offset, file)
    size = path.stat().st_size
    if size != file.size_bytes:
        return f"{path}: has {size} bytes, the manifest says {file.size_bytes}"
    if checksum(path) != file.sha256:
        return f"{path}: its content has changed (checksum)"
    return None


def _check_range(path: Path, offset: int, file: PartFile) -> str | None:
    if checksum_range(path, offset, file.size_bytes) != file.sha256:
        return f"{path}: bytes {offset} to {offset + file.size_bytes} have changed (checksum)"
    return None


def _row_problems(dataset: Dataset, sound: list[Part]) -> Iterator[Problem]:
    """Record types whose files cannot be read as declared, or give another number of rows."""
    expected: Counter[str] = Counter()
    for part in sound:
        expected.update(part.rows)
    for name, rows in sorted(expected.items()):
        text = _count(dataset, name, sound, rows)
        if text is not None:
            # one by one, to name those that are to blame
            bad = [
                part
                for part in sound
                if part.rows.get(name) and _count(dataset, name, [part], part.rows[name])
            ]
            names = ", ".join(sorted({f.path for p in bad for f in _files(p, name)})[:3])
            yield Problem(f"{names or name}: {text}", tuple(part.key for part in bad))


def _count(dataset: Dataset, name: str, parts: list[Part], rows: int) -> str | None:
    """What is wrong with the rows of a record type in these parts."""
    files = [file for part in parts if part.rows.get(name) for file in _files(part, name)]
    try:
        kind = dataset.record_type(name)
        frame = dataset.sink.scan(files, kind)
        found = frame.select(pl.len()).collect().item()
        # the files' ends state the row counts; the columns must be read to be known
        frame.head(1).collect()
    except UnknownTypeError as error:
        return str(error)
    except (pl.exceptions.PolarsError, DatasetError, OSError) as error:
        return f"rows of {name} cannot be read as declared: {error}"
    return None if found == rows else f"has {found} rows of {name}, the manifest says {rows}"


def _files(part: Part, name: str) -> list[PartFile]:
    return [file for file in part.files if file.record_type in (name, "events")]


def _stray_files(dataset: Dataset) -> Iterator[Problem]:
    """Files whose rows readers of the directories would take for the dataset's."""
    root = dataset.sink.root
    named = {
        root / file.path for part in dataset.manifest for file in part.files if file.offset is None
    }
    kinds = {(path.parent, path.suffix) for path in named}
    for folder, suffix in sorted(kinds):
        if not folder.is_dir() or folder == root:
            continue
        for path in sorted(folder.glob(f"*{suffix}")):
            if path not in named:
                yield Problem(
                    f"{path}: does not belong to the dataset: left by a run that was cut short, or "
                    "put there by somebody"
                )


def _history_problems(dataset: Dataset) -> Iterator[Problem]:
    """Records of runs and kept states that are missing or damaged."""
    manifest, state = dataset.manifest, dataset.sink.state
    for run in manifest.runs:
        try:
            read_record(dataset.sink, run)
        except DatasetError as error:
            yield Problem(f"{error.where}: {error.message}")
    for run in manifest.kept:
        try:
            kept = lacking(read_state(state, run).check(), manifest)
        except DatasetError as error:
            yield Problem(f"{error.where}: {error.message}")
            continue
        for digest in sorted({file.sha256 for _, file in kept.values()}):
            path = state / KEPT / digest
            if path.is_symlink() or not path.is_file() or checksum(path) != digest:
                what = "damaged" if path.is_file() else "missing"
                yield Problem(f"{path}: {what}; the state of run {run} cannot be restored")
