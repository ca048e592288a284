"""What lies finished in a dataset's staging area, and where.

A partition is staged in a directory of its own, ``staging/<stem>``, which ``_part.json``
describes.  Small ones that were read together are staged in one directory, a *bundle*, and
``_parts.json`` describes them all.

A partition may be attempted twice at a time: a worker that was given up for lost may live on.
Each attempt therefore works in a directory of its own, and the first that is complete is put in
place, by one rename; the others are thrown away.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import attrs

from harvest import fault

from .part import Part, key_of, read_part, read_parts

STAGING = "staging"
ATTEMPTS = "attempts"
REJECTS = "_rejects.parquet"
_REMOVALS = 20
DONE = "_part.json"
BUNDLED = "_parts.json"

_BUNDLE = "bundle."  # no part's stem has a dot


@attrs.frozen
class Staged:
    """A finished part, and the directory that holds its files."""

    part: Part
    directory: Path


def bundle_name(stems: Iterable[str]) -> str:
    """The name of the directory that these parts are staged in together."""
    return _BUNDLE + hashlib.sha256("\0".join(stems).encode()).hexdigest()[:24]


def is_bundle(directory: Path) -> bool:
    """Whether a directory in staging holds several parts."""
    return directory.name.startswith(_BUNDLE)


def finished(state: Path) -> Iterator[Path]:
    """The directories below ``staging`` that are complete, by name."""
    staging = state / STAGING
    names = sorted(entry.name for entry in os.scandir(staging)) if staging.is_dir() else []
    for directory in (staging / name for name in names):
        if (directory / (BUNDLED if is_bundle(directory) else DONE)).is_file():
            yield directory


def staged_parts(state: Path) -> dict[str, Staged]:
    """All finished parts, by stem.

    Of one that is there twice, alone and in a bundle with others, that is taken which the run need
    not read again.
    """
    found: dict[str, Staged] = {}
    for directory in finished(state):
        for part in parts_in(directory):
            other = found.get(part.stem)
            if other is None or not other.part.settled:
                found[part.stem] = Staged(part, directory)
    return found


def staged_before(state: Path, stems: Sequence[str]) -> dict[str, Staged]:
    """What another attempt has finished of partitions that are read together, by stem.

    Few files are looked for, however much is staged.
    """
    staging = state / STAGING
    found = {}
    for stem in stems:
        for part in parts_in(staging / stem):
            found[stem] = Staged(part, staging / stem)
    place = staging / bundle_name(stem for stem in stems if stem not in found)
    return found | {part.stem: Staged(part, place) for part in parts_in(place)}


def parts_in(directory: Path) -> tuple[Part, ...]:
    """The parts that a finished directory holds; none where their description is damaged."""
    if is_bundle(directory):
        return read_parts(directory / BUNDLED)
    part = read_part(directory / DONE)
    return () if part is None else (part,)


def clear_places(state: Path, keys: Iterable[str], keep: Collection[Path] = ()) -> None:
    """Remove what is staged of partitions that are to be read again; before any is attempted.

    keys: of their parts.  keep: bundles that hold others of which the work is used.
    """
    if not any((state / STAGING).iterdir()):
        return  # as nearly always; a million keys need not be collected
    keys = set(keys)
    for directory in filter(is_bundle, finished(state)):
        if directory not in keep and any(part.key in keys for part in parts_in(directory)):
            remove_tree(directory)
    with os.scandir(state / STAGING) as entries:
        for entry in entries:
            if key_of(entry.name) in keys:
                remove_tree(Path(entry.path))


def remove_tree(directory: Path) -> None:
    """Remove a directory, though a worker that was given up for lost may still write in it."""
    for left in reversed(range(_REMOVALS)):
        try:
            shutil.rmtree(directory)
        except FileNotFoundError:
            if not directory.exists():
                return
            if not left:
                raise
        except OSError as error:
            if not left or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # the worker does not know it by another name
            directory = directory.rename(directory.with_name(f".gone-{secrets.token_hex(6)}"))
        else:
            return


def make_attempt(directory: Path) -> None:
    """Make an attempt's directory."""
    try:
        directory.mkdir(exist_ok=True)
    except FileNotFoundError:  # the first one
        directory.mkdir(parents=True, exist_ok=True)


def put_in_place(parts: Sequence[Part], attempt: Path, place: Path) -> tuple[Staged, ...]:
    """Make an attempt what is staged, unless another was faster: then take that."""
    while True:
        try:
            attempt.rename(place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            faster = parts_in(place)
            if not faster:  # left by a version without attempts, and never finished
                remove_tree(place)
                continue
            shutil.rmtree(attempt)
            return tuple(Staged(part, place) for part in faster)
        fault.point("partition.placed")
        return tuple(Staged(part, place) for part in parts)
