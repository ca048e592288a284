"""A dataset that is open for writing: its sink, its lock, the manifest in force."""

import contextlib
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import attrs

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.errors import DatasetError, HarvestError, UsageError, out_of_files, system_reason
from harvest.toolkit.texts import printable

from .commit import Commit, clear_staging, recover
from .files import make_directories
from .history import forget, remember
from .lock import Lock, locked
from .manifest import Manifest
from .staging import STAGING


@attrs.frozen
class Target:
    """A locked dataset without leftovers of an interrupted run."""

    sink: Sink
    lock: Lock
    manifest: Manifest

    def commit(self, commit: Commit, committed: Callable[[], object] = lambda: None) -> Manifest:
        """Carry out a commit; call ``committed`` once the new state is in force."""
        self.lock.check()
        try:
            commit.prepare()
            self.lock.check()
            interrupt.check()
        except BaseException:
            self._undo()
            raise
        with interrupt.deferred():
            try:
                new = commit.put_in_force()
            except OSError:
                in_force = Manifest.load(self.sink.state)
                if in_force is not None and in_force.run == commit.new.run:
                    committed()  # the error came after the rename
                else:
                    self._undo()
                raise
            committed()
            commit.settle()
        return new

    def amend(self, manifest: Manifest) -> None:
        """Put a manifest of the same parts in force, and remove states that it does not keep."""
        self.lock.check()
        new = manifest.save(self.sink.state)
        remember(self.sink.state, new)
        forget(self.sink.state, new)

    def drop_unfinished(self) -> None:
        """Remove the staging directories of unfinished partitions."""
        self._clear_up(lambda: clear_staging(self.sink.state, keep_finished=True))

    def _undo(self) -> None:
        """Undo the publication: readers of the directories must see one state."""
        self._clear_up(lambda: recover(self.sink, self.manifest))

    def _clear_up(self, act: Callable[[], None]) -> None:
        """Clean up early what the next run cleans up anyway; skip it on errors or a lost lock."""
        with interrupt.deferred(), contextlib.suppress(OSError, DatasetError):
            self.lock.check()
            act()


@contextlib.contextmanager
def writing(sink: Sink, *, wait_s: float = 0) -> Iterator[Target]:
    """Make and lock the dataset's state directory, and finish or undo an interrupted run."""
    with holding(sink.state, str(sink.location), wait_s=wait_s) as lock:
        yield put_in_order(sink, lock)


@contextlib.contextmanager
def holding(state: Path, location: str, *, wait_s: float = 0) -> Iterator[Lock]:
    """Make and lock a state directory; raise the same errors as ``writing``."""
    refuse_links(state)
    try:
        make_directories(state / STAGING)
    except OSError as error:
        if out_of_files(error):
            raise
        raise HarvestError(
            f"the dataset cannot be written: {error.strerror}",
            where=printable(str(error.filename or location)),
            remedy="check the sink's location and its permissions",
        ) from error
    with storage_errors(location), locked(state, wait_s=wait_s) as lock:
        yield lock


def put_in_order(sink: Sink, lock: Lock) -> Target:
    """Finish or undo an interrupted run of a locked dataset; return it ready for writing."""
    manifest = manifest_of(sink)
    recover(sink, manifest)
    return Target(sink, lock, manifest)


def refuse_links(state: Path) -> None:
    """Raise UsageError for links in a state directory: writes and removals must stay in it."""
    entries = sorted(state.iterdir()) if state.is_dir() and not state.is_symlink() else []
    for path in (state, *entries):
        if path.is_symlink():
            raise UsageError(
                "this is a symbolic link, through which rows could be written or removed elsewhere",
                where=printable(str(path)),
                remedy="replace the link by the directory itself",
            )


@contextlib.contextmanager
def storage_errors(
    where: str, standing: Callable[[], str] = lambda: "nothing of this run was committed"
) -> Iterator[None]:
    """Convert OSError (with ``standing`` as the remedy) and MemoryError to HarvestError."""
    try:
        yield
    except BrokenPipeError:  # the reader of the output has closed it: not an error of the storage
        raise
    except OSError as error:
        raise HarvestError(
            system_reason(error), where=printable(str(error.filename or where)), remedy=standing()
        ) from error
    except MemoryError as error:
        remedy = "run again: finished partitions are kept; fewer --workers need less memory"
        raise HarvestError("out of memory", remedy=remedy) from error


def manifest_of(sink: Sink) -> Manifest:
    """Return the manifest in force or an empty one; raise UsageError if another sink wrote it."""
    manifest = Manifest.load(sink.state)
    if manifest is None:
        return Manifest(sink=sink.name, location=printable(str(sink.location)))
    if manifest.sink != sink.name:
        problem = f"the dataset there was written by sink {manifest.sink!r}, not {sink.name!r}"
        remedy = f"use --sink {manifest.sink}:..., or another location"
        raise UsageError(problem, where=str(sink.location), remedy=remedy)
    return manifest


def new_run_id() -> str:
    """Return an id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
