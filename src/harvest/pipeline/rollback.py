"""Roll back to the state of an earlier run, and set how many states are kept.

A rollback is a commit like any other. Files that the current state lacks are staged from ``kept/``;
the others stay. It is recorded as a run, and can itself be rolled back.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import attrs

from harvest import fault
from harvest.api.sink import Sink
from harvest.errors import DatasetError, HarvestError, UsageError
from harvest.storage.commit import Commit
from harvest.storage.history import Content, apart, content_of, keys_apart, put_back, read_state
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part
from harvest.storage.parts import rows_where
from harvest.storage.staging import REJECTS, STAGING, Staged
from harvest.storage.target import new_run_id, writing

from .record import describe_rollback

_BATCH: Final = 2_048
"""Number of parts that are compared together."""


def roll_back(sink: Sink, to: str, *, wait_s: float = 0) -> str | None:
    """Put the state of run ``to`` in force again.

    Returns the id of the new run, or None if that state is already in force.
    Raises UsageError for an unknown run, and DatasetError if its state is not kept.
    """
    started = datetime.now(UTC)
    with writing(sink, wait_s=wait_s) as target:
        now = target.manifest
        if to == now.run:
            return None
        if to not in now.kept:
            raise _missing_state(sink, now, to)
        then = read_state(sink.state, to)
        run = new_run_id()
        staged = dict(_stage(sink, now, then))
        fault.point("rollback.staged")
        gone = keys_apart(now.parts, then.parts)
        replaced = len(now.parts.rows_picked(staged))
        counts = {"partitions": len(staged), "replaced": replaced, "dropped": len(gone)}
        record = describe_rollback(run=run, started=started, sink=sink, to=to, counts=counts)
        commit = Commit(
            sink, now, staged=staged, replaced=gone, run=run, record=record, schemas=then.schemas
        )
        target.commit(commit)
        return run


def keep_runs(sink: Sink, count: int, *, wait_s: float = 0) -> Manifest:
    """Keep ``count`` earlier states from now on, and remove older ones immediately."""
    with writing(sink, wait_s=wait_s) as target:
        now = target.manifest
        kept = now.kept[len(now.kept) - min(len(now.kept), count) :]
        new = attrs.evolve(now, keep_runs=count, kept=kept)
        if now.run:
            target.amend(new)
        return new


def _missing_state(sink: Sink, now: Manifest, to: str) -> HarvestError:
    where = str(sink.location)
    if to not in now.runs:
        remedy = "`harvest runs DATASET` lists them"
        return UsageError(f"no run {to!r} was committed here", where=where, remedy=remedy)
    remedy = f"kept are: {', '.join(now.kept) or 'none'}; "
    remedy += "--keep-runs N of `harvest run` keeps more in the future"
    return DatasetError(f"the state that run {to} left was not kept", where=where, remedy=remedy)


def _stage(sink: Sink, now: Manifest, then: Manifest) -> Iterator[tuple[str, Staged]]:
    """Stage the parts of ``then`` that differ in ``now`` or are missing there."""
    parts = _different(now, then)
    pieces: dict[Content, tuple[Path, int | None]] = {}
    if any(file.offset is not None for part in parts.values() for file in part.files):
        for file in now.files.distinct():
            pieces[content_of(file)] = (sink.root / file.path, file.offset)
    for key, part in parts.items():
        directory = sink.state / STAGING / "rollback"
        if any(file.offset is not None for file in part.files):
            directory /= key  # pieces of one file have the same name
        for file in part.files:
            whole = (sink.root / file.path, None)
            here = whole if file.offset is None else pieces.get(content_of(file))
            if not (directory / file.path).exists():  # another part may share it
                put_back(sink.state, file, directory / file.path, here)
                fault.point("rollback.file")
        rejects = part.rejects
        if rejects is not None:
            name = key + REJECTS
            put_back(sink.state, rejects, directory / name, (sink.state / rejects.path, None))
            fault.point("rollback.file")
            rejects = attrs.evolve(rejects, path=name)
        files = tuple(attrs.evolve(file, offset=None) for file in part.files)
        yield key, Staged(attrs.evolve(part, files=files, rejects=rejects), directory)


def _different(now: Manifest, then: Manifest) -> dict[str, Part]:
    """Return the parts to stage, together with all parts that share their files."""
    rows = rows_where(apart(then.parts, now.parts)).to_pylist()
    found: dict[str, Part] = {}
    for start in range(0, len(rows), _BATCH):
        some = {part.key: part for part in then.parts.at(rows[start : start + _BATCH])}
        held = {key: _essence(part) for key, part in now.parts.pick(some).items()}
        found |= {key: part for key, part in some.items() if held.get(key) != _essence(part)}
    more = found
    while more:
        shared = {f.path for part in more.values() for f in part.files if f.first_row is not None}
        more = then.parts.pick(set(then.files.users_of(shared)) - found.keys())
        found |= more
    return found


def _essence(part: Part) -> Part:
    """Return a part without the offsets of its pieces in a consolidated file."""
    return attrs.evolve(part, files=tuple(attrs.evolve(f, offset=None) for f in part.files))
