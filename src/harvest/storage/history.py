"""Earlier states of a dataset: their manifests, and the files that later runs replaced.

States share segments. A row that is current in two states has the same content in both. A
comparison therefore looks only at the other rows: its cost is proportional to the changes.

``history/<run>.json`` is the manifest that a run put in force. There is one for the current state,
to restore a damaged manifest, and one for each kept state. The segments they list are in
``segments/``; ``copies/`` has a copy of each. ``kept/`` has the files and pieces of kept states
that the current state has dropped, named by checksum. Files that the current state still has are
shared and cost nothing.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest import fault
from harvest.api.sink import KEPT, PartFile, Sink
from harvest.errors import DatasetChanged, DatasetError
from harvest.toolkit.files import fsync_directory, fsync_file, write_atomically
from harvest.toolkit.plain import checksum_range, is_content, is_plain, read_plain, take_away
from harvest.toolkit.texts import printable

from .columns import KEYS, file_of, reject_of
from .files import link_on_the_way
from .manifest import HISTORY, NAME, Manifest, segments_of
from .parts import Parts
from .segment import COPIES, SEGMENTS, Segment, copy_segment, is_whole, restore_segment
from .stored_files import StoredFiles


def apart(here: Parts, there: Parts) -> pa.BooleanArray:
    """Mark the rows of ``here.table`` that are current here but not in the same segment there.

    Rows in other segments may still have the same content.
    """
    theirs = dict(zip(map(_name, there.segments), there.counting_by_segment, strict=True))
    found = [
        pc.and_not(mine, theirs[name]) if (name := _name(segment)) in theirs else mine
        for segment, mine in zip(here.segments, here.counting_by_segment, strict=True)
    ]
    return pa.concat_arrays([pa.array([], pa.bool_()), *found])


def _name(segment: Segment) -> str | int:
    """Return a value that is equal for two references to the same segment."""
    return id(segment) if segment.entry is None else segment.entry.file


def keys_apart(here: Parts, there: Parts) -> list[str]:
    """Return the keys of parts that are here and not there."""
    keys = here.table(KEYS).column("key").filter(apart(here, there))
    others = there.table(KEYS).column("key").filter(there.counting)
    return [key.hex() for key in _outside(keys, others)]


def _texts_apart(
    here: Parts, there: Parts, texts: Callable[[StoredFiles, pa.Array | None], pa.Array]
) -> list[str]:
    rows = apart(here, there)
    if not rows.true_count:
        return []
    return _outside(texts(StoredFiles(here), rows), texts(StoredFiles(there), None))


def _outside(values: pa.Array | pa.ChunkedArray, others: pa.Array | pa.ChunkedArray) -> list[Any]:
    found = values.filter(pc.invert(pc.is_in(values, value_set=others)))
    return list(found.unique().to_pylist())


Content: TypeAlias = tuple[str, str]
"""Identity of content across manifests: path (empty for a piece of a file) and checksum."""


def content_of(file: PartFile) -> Content:
    """Return a file's content identity; moving within a consolidated file keeps it."""
    return (file.path if file.offset is None else "", file.sha256)


def keep(sink: Sink, old: Manifest, new: Manifest, *, check: bool = False) -> bool:
    """Keep files of ``old`` that ``new`` has dropped; return whether all of them were found."""
    directory = sink.state / KEPT
    whole = True
    again = {f.sha256: f for f in new.files.distinct() if f.offset is None} if check else {}
    for in_state, file in lacking(old, new).values():
        target = directory / file.sha256
        if target.exists():
            continue
        directory.mkdir(exist_ok=True)
        fault.point("kept.file")
        base = sink.state if in_state else sink.root
        sources = [base / file.path]
        if file.offset is None and link_on_the_way(base, file.path) is not None:
            sources.clear()
        if file.sha256 in again:
            sources.append(sink.root / again[file.sha256].path)
        # go on after a failure: older states may need the other files
        whole &= any(_copy(path, file.offset, file, target, check=check) for path in sources)
    if directory.is_dir():
        fsync_directory(directory)
    return whole


def remember(state: Path, manifest: Manifest) -> None:
    """Store a copy of the manifest in force and of its segments."""
    if not manifest.run:
        return
    path = state / HISTORY / f"{manifest.run}.json"
    data = read_plain(state / NAME)
    if not is_content(path, hashlib.sha256(data).hexdigest(), len(data)):
        path.parent.mkdir(exist_ok=True)
        fault.point("history.copy")
        for name in segments_of(state / NAME) or ():
            if not (state / COPIES / name).exists():
                copy_segment(state / SEGMENTS / name, state / COPIES / name)
                fault.point("history.segment")
        write_atomically(path, data)
        fsync_directory(state)


def forget(state: Path, manifest: Manifest) -> None:
    """Remove history, segments and kept files that belong to no kept state."""
    wanted = {f"{run}.json" for run in (*manifest.kept, manifest.run)}
    history = state / HISTORY
    for path in sorted(history.iterdir()) if history.is_dir() else ():
        if path.name not in wanted:  # also removes leftovers of killed writes
            fault.point("history.forget")
            take_away(path, state)
    _forget_segments(state)
    directory = state / KEPT
    if not directory.is_dir():
        return
    try:
        needed = {
            file.sha256
            for run in manifest.kept
            for _, file in lacking(read_state(state, run), manifest).values()
        }
    except DatasetError:  # its needs are unknown, so nothing is removed; `verify` names it
        return
    for path in sorted(directory.iterdir()):
        if path.name not in needed:
            fault.point("kept.forget")
            take_away(path, state)
    if not needed:
        directory.rmdir()


def lacking(kept: Manifest, here: Manifest) -> dict[Content, tuple[bool, PartFile]]:
    """Return the files, including rejects, that a kept state has and another state lacks."""
    files = [file_of(text) for text in _texts_apart(kept.parts, here.parts, StoredFiles.texts)]
    found = {content_of(file): (False, file) for file in files}
    if any(file.offset is not None for file in files):
        for file in here.files.distinct():  # a piece may have moved
            found.pop(content_of(file), None)
    rejects = _texts_apart(kept.parts, here.parts, StoredFiles.reject_texts)
    return found | {content_of(file): (True, file) for file in map(reject_of, rejects)}


def _forget_segments(state: Path) -> None:
    """Remove segments that no manifest lists; remove none if any manifest is unreadable."""
    lists = [state / NAME, *(state / HISTORY).glob("*.json")]
    named: set[str] = set()
    for path in lists:
        listed = segments_of(path)
        if listed is None:
            return
        named |= listed
    for directory in (state / SEGMENTS, state / COPIES):
        for path in sorted(directory.glob("[!.]*")):
            if path.name not in named:
                fault.point("segment.forget")
                take_away(path, state)
        for left in directory.glob(".*.tmp"):
            take_away(left, state)


def damaged_copies(state: Path, manifest: Manifest) -> Iterator[Path]:
    """Yield lost or damaged copies of the manifest and of all listed segments."""
    path = state / HISTORY / f"{manifest.run}.json"
    try:
        if manifest.run and Manifest.read(path) is None:
            yield path
    except DatasetError:
        yield path
    for name in _listed(state, manifest):
        if not is_whole(state / COPIES / name):
            yield state / COPIES / name


def mend_copies(state: Path, manifest: Manifest) -> None:
    """Restore damaged segments from their copies, and damaged copies from their segments."""
    for name in _listed(state, manifest):
        segment, copy = state / SEGMENTS / name, state / COPIES / name
        restore_segment(copy, segment)
        restore_segment(segment, copy)
    remember(state, manifest)


def restorable(state: Path, run: str) -> bool:
    """Return whether each segment of a kept state is intact, or has an intact copy."""
    names = segments_of(state / HISTORY / f"{run}.json") or set()
    found = [is_whole(state / SEGMENTS / name) or is_whole(state / COPIES / name) for name in names]
    return bool(found) and all(found)


def _listed(state: Path, manifest: Manifest) -> list[str]:
    """Return the file names of segments in the manifest in force and in kept states."""
    names = {segment.entry.file for segment in manifest.parts.segments if segment.entry}
    for run in manifest.kept:
        names |= segments_of(state / HISTORY / f"{run}.json") or set()
    return sorted(names)


def read_state(state: Path, run: str) -> Manifest:
    """Read the manifest that a run put in force; raise DatasetError if it is missing or damaged."""
    path = state / HISTORY / f"{run}.json"
    found = Manifest.read(path)
    if found is None:
        problem = "the manifest of a kept state is missing"
        remedy = "that state is lost; `harvest runs DATASET --keep-runs 0` forgets it"
        raise DatasetError(problem, where=str(path), remedy=remedy)
    return found


def put_back(
    state: Path, file: PartFile, target: Path, here: tuple[Path, int | None] | None
) -> None:
    """Restore a file of an earlier state at ``target``: from ``kept/``, or from ``here``."""
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = state / KEPT / file.sha256
    sources: list[tuple[Path, int | None]] = [(kept, None), *([here] if here else [])]
    if not any(_copy(path, at, file, target, check=True) for path, at in sources):
        problem = "a file of this state is missing or damaged"
        remedy = "that state cannot be restored; go back to another, or harvest again"
        raise DatasetError(problem, where=str(kept), remedy=remedy)


def located(sink: Sink, files: Iterable[PartFile], now: Manifest) -> list[PartFile]:
    """Return files of an earlier state at their present paths: current ones, or in ``kept/``."""
    here = {content_of(file): file for file in now.files.distinct()}
    found = []
    for file in files:
        if (place := here.get(content_of(file))) is not None:
            found.append(attrs.evolve(file, path=place.path, offset=place.offset))
            continue
        kept = sink.state / KEPT / file.sha256
        if not is_plain(kept):
            raise changed(sink)
        path = os.path.relpath(kept, sink.root)
        found.append(attrs.evolve(file, path=path, offset=None if file.offset is None else 0))
    return found


def changed(sink: Sink) -> DatasetChanged:
    """Build the error for a reader whose state is neither in force nor kept."""
    problem = "the dataset has changed since it was opened"
    return DatasetChanged(problem, where=printable(str(sink.location)), remedy="open it again")


def kept_bytes(state: Path) -> int:
    """Return the bytes that kept states take in addition to the state in force."""
    directory = state / KEPT
    return sum(path.lstat().st_size for path in directory.iterdir()) if directory.is_dir() else 0


def _copy(
    source: Path, offset: int | None, file: PartFile, target: Path, *, check: bool = False
) -> bool:
    """Hard-link a whole file, or else copy it; durable once the target directory is flushed."""
    if offset is None and not is_plain(source):  # a consolidated file may be the user's own link
        return False
    if offset is None and not check:
        try:
            os.link(source, target)
        except FileNotFoundError:
            return False
        except OSError:  # a file system without hard links
            pass
        else:
            return True
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        with temporary.open("wb") as copy:
            digest = checksum_range(source, offset or 0, file.size_bytes, copy)
    except FileNotFoundError:
        digest = ""
    if digest != file.sha256:
        return False
    fsync_file(temporary)
    temporary.replace(target)
    return True
