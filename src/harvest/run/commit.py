"""Making a run's work visible in one dataset, by one rename.

Order: publish the new files beside the old ones; keep the rejects and the run's record; rename the
manifest (the commit); remove what the new manifest no longer names.  A kill before the rename
leaves the old dataset, a kill after it the new one; ``recover`` tidies up either way.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from harvest.plugins.sink import PartFile, Publication, Sink

from .durable import fsync_directory, write_atomically
from .manifest import Manifest, Part, read_part
from .work import DONE, STAGING

__all__ = ["REJECTS", "RUNS", "commit", "recover"]

REJECTS = "rejects"
RUNS = "runs"


def commit(
    sink: Sink,
    manifest: Manifest,
    *,
    staged: Mapping[str, Part],
    replaced: Iterable[str],
    run: str,
    record: bytes,
) -> Manifest:
    """Put staged parts in force, in place of those with the same key and of ``replaced``.

    record: the run's own description, kept as ``runs/<run>.json``.
    Raises OSError when something cannot be written; then the old manifest is still in force.
    """
    state = sink.state
    parts = {key: part for key, part in manifest.parts.items() if key not in set(replaced)}
    parts.update({key: attrs.evolve(part, run=run) for key, part in staged.items()})
    new = manifest.with_parts(parts, token=run, run=run)
    publication = Publication(
        parts=new.files(),
        staged={key: state / STAGING / part.stem for key, part in staged.items()},
        old=manifest.files(),
        token=run,
    )
    final = sink.publish(publication)
    rejects = _publish_rejects(state, staged)
    new = attrs.evolve(
        new,
        parts={
            key: attrs.evolve(
                part,
                files=tuple(final.get(key, part.files)),
                rejects=rejects.get(key, part.rejects) if key in staged else part.rejects,
            )
            for key, part in new.parts.items()
        },
    )
    runs = state / RUNS
    runs.mkdir(exist_ok=True)
    write_atomically(runs / f"{run}.json", record)
    new.save(state)
    sink.finish(attrs.evolve(publication, parts=new.files()))
    _tidy(state, new, keep_staging=())
    return new


def _publish_rejects(state: Path, staged: Mapping[str, Part]) -> dict[str, PartFile]:
    published = {}
    target = state / REJECTS
    for key, part in staged.items():
        if part.rejects is None:
            continue
        target.mkdir(exist_ok=True)
        name = _rejects_name(part.stem, part.rejects)
        source = state / STAGING / part.stem / part.rejects.path
        source.replace(target / name)
        published[key] = attrs.evolve(part.rejects, path=f"{REJECTS}/{name}")
    if published:
        fsync_directory(target)
    return published


def _rejects_name(stem: str, file: PartFile) -> str:
    """Of its content too: what is in force until the commit is never overwritten."""
    return f"{stem}-{file.sha256[:12]}.parquet"


def recover(sink: Sink, manifest: Manifest) -> None:
    """Bring a dataset that a killed run left behind back into order.

    Files of staged parts that had been published but not committed go back to staging, so that
    their partitions need not be read again; the sink then removes what no manifest names.
    """
    state = sink.state
    committed = {file.path for part in manifest for file in part.files}
    held_rejects = {part.rejects.path for part in manifest if part.rejects}
    for done in sorted((state / STAGING).glob(f"*/{DONE}")):
        part = read_part(done)
        if part is None:
            continue
        for file in part.files:
            if file.path not in committed:
                _move_back(sink.root / file.path, done.parent / file.path)
        if part.rejects is not None:
            name = f"{REJECTS}/{_rejects_name(part.stem, part.rejects)}"
            if name not in held_rejects:
                _move_back(state / name, done.parent / part.rejects.path)
    files = manifest.files()
    sink.finish(Publication(parts=files, staged={}, old=files, token=manifest.token))
    _tidy(state, manifest, keep_staging=_finished(state))


def _move_back(published: Path, staged: Path) -> None:
    if published.is_file() and not staged.exists():
        staged.parent.mkdir(parents=True, exist_ok=True)
        published.replace(staged)


def _finished(state: Path) -> set[str]:
    return {done.parent.name for done in (state / STAGING).glob(f"*/{DONE}")}


def _tidy(state: Path, manifest: Manifest, *, keep_staging: Iterable[str]) -> None:
    """Remove staging and rejects that nothing refers to."""
    keep = set(keep_staging)
    staging = state / STAGING
    if staging.is_dir():
        for entry in os.scandir(staging):
            if entry.name not in keep:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    Path(entry.path).unlink()
    named = {Path(part.rejects.path).name for part in manifest if part.rejects}
    rejects = state / REJECTS
    if rejects.is_dir():
        for path in rejects.iterdir():
            if path.name not in named:
                path.unlink()
