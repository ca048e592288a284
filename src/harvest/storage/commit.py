"""Commit a run to one dataset: one rename makes all of its work visible.

Order: publish the new files and rejects next to the old ones; keep replaced files for rollback;
write the run's record; rename the manifest (the commit); remove files that the new manifest does
not name. A kill before the rename leaves the old dataset; a kill after the rename leaves the new
one. ``recover`` cleans up in both cases.
"""

import hashlib
import heapq
import os
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

import attrs

from harvest import fault
from harvest.api.sink import PartFile, Publication, Sink
from harvest.toolkit.files import fsync_directory, write_atomically
from harvest.toolkit.plain import is_content, take_away
from harvest.toolkit.texts import printable

from .history import forget, keep, remember
from .manifest import Manifest, Schema
from .part import Part, require_rows
from .staging import STAGING, Staged, finished, parts_in, remove_tree, small_parts

REJECTS = "rejects"
RUNS = "runs"


class Commit:
    """One commit to one dataset.

    staged: new parts by key; they replace parts with the same key.
    replaced: keys of parts to remove.
    record: the run's own description, stored as ``runs/<run>.json``.
    schemas: columns of the record types after the commit; None keeps those of ``manifest``.
    check_old: whether files of the old state may be damaged; files to keep are then verified first.
    """

    def __init__(
        self,
        sink: Sink,
        manifest: Manifest,
        *,
        staged: Mapping[str, Staged],
        replaced: Iterable[str],
        run: str,
        record: bytes,
        schemas: Mapping[str, Schema] | None = None,
        check_old: bool = False,
    ):
        self.sink = sink
        self.old = manifest
        self.staged = staged
        self.record = record
        self.check_old = check_old
        self.gone = set(replaced) - staged.keys()
        parts = {key: item.part for key, item in staged.items()}
        self.new = manifest.after(run, parts, self.gone)
        if schemas is not None:
            self.new = attrs.evolve(self.new, schemas=schemas)
        self.publication = Publication(
            parts=self.new.files,
            staged={key: item.directory for key, item in staged.items()},
            old=manifest.files,
            token=run,
            stems={key: item.part.stem for key, item in staged.items()},
            small=small_parts(staged),
        )

    def prepare(self) -> None:
        """Put all files where the new manifest will name them.

        Raises PluginError when the sink does not publish all rows. After a failure or interrupt,
        ``recover`` undoes the work.
        """
        fault.point("commit.begun")
        runs = self.sink.state / RUNS
        runs.mkdir(exist_ok=True)
        write_atomically(runs / f"{self.new.run}.json", self.record)
        fault.point("commit.recorded")
        rejects = self._publish_rejects()
        # from here until ``settle``, old and new files exist next to each other
        final = self.sink.publish(self.publication)
        fault.point("commit.published")
        order = attrgetter("order")
        placed = (
            attrs.evolve(part, files=self._files(part, final), rejects=rejects.get(part.key))
            for part in sorted((item.part for item in self.staged.values()), key=order)
        )
        # a sink may have moved rows of other parts
        moved = (
            attrs.evolve(part, files=self._files(part, final))
            for key, part in self.old.parts.pick(final.keys() - self.staged.keys()).items()
            if tuple(final[key]) != part.files
        )
        # merged lazily: a first run has very many parts
        parts = heapq.merge(placed, moved, key=order)
        self.new = attrs.evolve(self.new, parts=self.old.parts.followed_by(parts, self.gone))
        if self.new.kept and not keep(self.sink, self.old, self.new, check=self.check_old):
            # files of the old state are missing: nobody could restore it, so it displaces no other
            kept = self.old.kept[-self.new.keep_runs :]
            self.new = attrs.evolve(self.new, kept=kept)
        digest = hashlib.sha256(self.record).hexdigest()
        self.new = attrs.evolve(self.new, records={**self.old.records, self.new.run: digest})
        self.new = self.new.stored(self.sink.state)
        fault.point("commit.kept")

    def _files(self, part: Part, final: Mapping[str, Sequence[PartFile]]) -> tuple[PartFile, ...]:
        """Return a part's published files; raise PluginError if they lack rows."""
        # rows that are staged for the sink to write are not yet in any of its files
        staged = () if part.key in self.publication.small else part.files
        files = tuple(final.get(part.key, staged))
        require_rows(self.sink, part.rows, files, does="publishes", where=printable(part.origin))
        return files

    def put_in_force(self) -> Manifest:
        """Rename the manifest into place and return it.

        Raises OSError when the manifest cannot be written; the old one then stays in force.
        """
        self.new = self.new.save(self.sink.state)
        return self.new

    def settle(self) -> None:
        """Remove files that the new manifest does not name; otherwise the next run does."""
        self.sink.finish(attrs.evolve(self.publication, parts=self.new.files))
        fault.point("commit.finished")
        remember(self.sink.state, self.new)
        fault.point("commit.remembered")
        tidy(self.sink.state, self.new)

    def _publish_rejects(self) -> dict[str, PartFile]:
        published = {}
        target = self.sink.state / REJECTS
        for key, item in self.staged.items():
            file = item.part.rejects
            if file is None:
                continue
            target.mkdir(exist_ok=True)
            name = _rejects_name(item.part.stem, file)
            (item.directory / file.path).replace(target / name)
            fault.point("commit.rejects")
            published[key] = attrs.evolve(file, path=f"{REJECTS}/{name}")
        if published:
            fsync_directory(target)
        return published


def _rejects_name(stem: str, file: PartFile) -> str:
    """Name a file of rejects by stem and content: a commit never overwrites files in force."""
    return f"{stem}-{file.sha256[:12]}.parquet"


def recover(sink: Sink, manifest: Manifest) -> None:
    """Bring a dataset back into order after a killed run.

    Move published but uncommitted files of staged parts back to staging: their partitions need not
    be read again. Then let the sink remove files that no manifest names.
    """
    state = sink.state
    fault.point("recover.begun")
    remember(state, manifest)
    files = manifest.files
    committed: set[str] = set()
    held_rejects: set[str] = set()
    if any(finished(state)):
        committed = files.paths()
        held_rejects = {file.path for file in manifest.files.rejects()}
    for directory in finished(state):
        for part in parts_in(directory):
            for file in part.files:
                if file.path not in committed:
                    _move_back(sink.root / file.path, file, directory / file.path)
            if part.rejects is not None:
                name = f"{REJECTS}/{_rejects_name(part.stem, part.rejects)}"
                if name not in held_rejects:
                    _move_back(state / name, part.rejects, directory / part.rejects.path)
    fault.point("recover.moved_back")
    sink.finish(Publication(parts=files, staged={}, old=files, token=manifest.token))
    fault.point("recover.finished")
    tidy(state, manifest, keep_finished=True)


def _move_back(published: Path, file: PartFile, staged: Path) -> None:
    if staged.exists() or not is_content(published, file.sha256, file.size_bytes):
        return
    staged.parent.mkdir(parents=True, exist_ok=True)
    published.replace(staged)
    fault.point("recover.move_back")


def tidy(state: Path, manifest: Manifest, *, keep_finished: bool = False) -> None:
    """Remove staging directories, rejects, records and old states that nothing refers to."""
    clear_staging(state, keep_finished=keep_finished)
    fault.point("tidy.staging")
    named = (state / REJECTS).is_dir() and manifest.files.rejects()
    _keep_only(state / REJECTS, {Path(file.path).name for file in named or ()})
    _keep_only(state / RUNS, {f"{run}.json" for run in manifest.runs})
    fault.point("tidy.files")
    forget(state, manifest)
    for left in state.glob(".*.tmp"):
        take_away(left, state)


def clear_staging(state: Path, *, keep_finished: bool) -> None:
    """Remove the content of the staging area, all or that of unfinished partitions."""
    staging = state / STAGING
    keep = {directory.name for directory in finished(state)} if keep_finished else ()
    for entry in os.scandir(staging) if staging.is_dir() else ():
        if entry.name in keep:
            continue
        if entry.is_dir(follow_symlinks=False):
            remove_tree(Path(entry.path))
        else:
            Path(entry.path).unlink()


def _keep_only(directory: Path, names: set[str]) -> None:
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        if path.name not in names:
            take_away(path, directory.parent)
