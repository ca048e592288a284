"""Going back to the state that an earlier run left, and saying how many states are kept.

Going back is a commit like any other: files of that state that the present one lacks are staged
from ``kept/``, the others stay.  It is recorded as a run, and can be gone back from.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import attrs

from harvest import fault
from harvest.api.sink import Sink
from harvest.errors import DatasetError
from harvest.storage.commit import Commit
from harvest.storage.history import (
    Content,
    content_of,
    contents,
    forget,
    put_back,
    read_state,
    remember,
)
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part
from harvest.storage.staging import REJECTS, STAGING, Staged
from harvest.storage.target import new_run_id, writing

from .record import describe_rollback

__all__ = ["keep_runs", "roll_back"]


def roll_back(sink: Sink, to: str, *, wait_s: float = 0) -> str | None:
    """Put the state that run ``to`` left in force again.

    Gives the id of the run that this makes; None where that state is in force already.
    Raises DatasetError when the state is not kept or a file of it is damaged.
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
        record = describe_rollback(run=run, started=started, sink=sink, to=to, parts=len(staged))
        target.commit(
            Commit(
                sink,
                now,
                staged=staged,
                replaced=now.parts.keys() - then.parts.keys(),
                run=run,
                record=record,
                schemas=then.schemas,
            )
        )
        return run


def keep_runs(sink: Sink, count: int, *, wait_s: float = 0) -> Manifest:
    """Keep ``count`` states before the present one from now on, and remove older ones at once."""
    with writing(sink, wait_s=wait_s) as target:
        now = target.manifest
        kept = now.kept[len(now.kept) - min(len(now.kept), count) :]
        new = attrs.evolve(now, keep_runs=count, kept=kept)
        if now.run:
            target.lock.check()
            new = new.save(sink.state)
            remember(sink.state, new)
            forget(sink.state, new)
        return new


def _missing_state(sink: Sink, now: Manifest, to: str) -> DatasetError:
    if to in now.runs:
        return DatasetError(
            f"the state that run {to} left was not kept",
            where=str(sink.location),
            remedy="kept are: "
            + (", ".join(now.kept) or "none")
            + "; --keep-runs N of `harvest run` keeps more in the future",
        )
    return DatasetError(
        f"no run {to!r} was committed here",
        where=str(sink.location),
        remedy="`harvest runs DATASET` lists them",
    )


def _stage(sink: Sink, now: Manifest, then: Manifest) -> Iterator[tuple[str, Staged]]:
    """The parts of ``then`` that ``now`` has otherwise or not at all, put together in staging."""
    here = _places(sink, now)
    for key in _different(now, then):
        part = then.parts[key]
        directory = sink.state / STAGING / "rollback" / key
        for file in part.files:
            put_back(sink.state, file, directory / file.path, here.get(content_of(file)))
            fault.point("rollback.file")
        rejects = part.rejects
        if rejects is not None:
            at = here.get(content_of(rejects))
            put_back(sink.state, rejects, directory / REJECTS, at)
            rejects = attrs.evolve(rejects, path=REJECTS)
        files = tuple(attrs.evolve(file, offset=None) for file in part.files)
        yield key, Staged(attrs.evolve(part, files=files, rejects=rejects), directory)


def _different(now: Manifest, then: Manifest) -> set[str]:
    """Keys of parts that are to be staged; those that share a file are staged together."""
    keys = {
        key
        for key, part in then.parts.items()
        if key not in now.parts or _essence(now.parts[key]) != _essence(part)
    }
    sharing: dict[str, set[str]] = {}
    for key, part in then.parts.items():
        for file in part.files:
            if file.first_row is not None:
                sharing.setdefault(file.path, set()).add(key)
    for together in sharing.values():
        if keys & together:
            keys |= together
    return keys


def _essence(part: Part) -> Part:
    """A part without where its pieces stand in a consolidated file."""
    return attrs.evolve(part, files=tuple(attrs.evolve(f, offset=None) for f in part.files))


def _places(sink: Sink, manifest: Manifest) -> dict[Content, tuple[Path, int | None]]:
    return {
        content: ((sink.state if in_state else sink.root) / file.path, file.offset)
        for content, (in_state, file) in contents(manifest).items()
    }
