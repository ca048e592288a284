"""Checking that a dataset's files are what its manifest says."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from harvest.plugins.sink import PartFile
from harvest.run.durable import checksum

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["verify"]


def verify(dataset: Dataset) -> list[str]:
    """Sentences naming every file that is missing, damaged or of another number of rows.

    Reads all files once for their checksums, and once more to count their rows.
    """
    problems: list[str] = []
    root = dataset.sink.root
    sound: list[tuple[str, PartFile]] = []
    for part in dataset.manifest:
        for file in part.files:
            problem = _check_bytes(root / file.path, file)
            if problem:
                problems.append(problem)
            else:
                sound.append((part.key, file))
        if part.rejects is not None:
            problem = _check_bytes(dataset.sink.state / part.rejects.path, part.rejects)
            if problem:
                problems.append(problem)
    if not problems:
        problems += _check_rows(dataset)
    return problems


def _check_bytes(path: Path, file: PartFile) -> str | None:
    if not path.is_file():
        return f"{path}: missing"
    if file.offset is not None:
        return _check_range(path, file)
    size = path.stat().st_size
    if size != file.size_bytes:
        return f"{path}: has {size} bytes, the manifest says {file.size_bytes}"
    if checksum(path) != file.sha256:
        return f"{path}: its content has changed (checksum)"
    return None


def _check_range(path: Path, file: PartFile) -> str | None:
    import hashlib

    digest = hashlib.sha256()
    left = file.size_bytes
    with path.open("rb") as stream:
        stream.seek(file.offset or 0)
        while left and (block := stream.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
    if left or digest.hexdigest() != file.sha256:
        return (
            f"{path}: bytes {file.offset} to {(file.offset or 0) + file.size_bytes} "
            "have changed (checksum)"
        )
    return None


def _check_rows(dataset: Dataset) -> list[str]:
    import polars as pl

    expected: dict[str, int] = defaultdict(int)
    for part in dataset.manifest:
        for name, rows in part.rows.items():
            expected[name] += rows
    problems = []
    for name, rows in expected.items():
        try:
            found = dataset[name].select(pl.len()).collect().item()
        except KeyError as error:
            problems.append(f"{name}: {error}")
            continue
        except pl.exceptions.PolarsError as error:
            problems.append(f"{name}: cannot be read: {error}")
            continue
        if found != rows:
            problems.append(f"{name}: has {found} rows, the manifest says {rows}")
    return problems
