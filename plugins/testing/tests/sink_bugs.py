"""Bugs that authors of sinks make, each planted in a sound sink.

A bug is a class whose docstring states it.  ``caught_by`` is the test of the conformance kit that
finds it, or None; then ``reason`` says why no test from outside can.
"""

from __future__ import annotations

import contextlib
import json
import locale
import os
import secrets
import shutil
import tempfile
import threading
import urllib.parse
from pathlib import Path
from unittest import mock

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from sound_sinks import DuckdbSink, JsonlDirectory, JsonlFile, ParquetSink, ScaffoldSink

from harvest import PartWriter, UsageError
from harvest.toolkit.files import fsync_directory
from harvest.toolkit.texts import printable

__all__ = ["BUGS", "Bug"]


@attrs.frozen
class Bug:
    """A planted bug."""

    name: str
    statement: str
    base: type
    mutated: type
    caught_by: str | None
    reason: str = ""


BUGS: list[Bug] = []


def planted(base, caught_by, reason=""):
    """Enter a class into the list."""

    def enter(cls):
        words = "".join(f"-{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("-")
        BUGS.append(Bug(words, cls.__doc__.strip(), base, cls, caught_by, reason))
        return cls

    return enter


class Around(PartWriter):
    """A writer around another one."""

    def __init__(self, writer, sink=None):
        self.writer, self.sink = writer, sink

    def write(self, record_type, table):
        self.writer.write(record_type, table)

    def close(self):
        return self.writer.close()

    def abort(self):
        self.writer.abort()


class Changing:
    """A sink that changes the column ``value`` before it is written."""

    def writer(self, staging, part):
        change = self.changed

        class Changed(Around):
            def write(self, record_type, table):
                index = table.schema.get_field_index("value")
                if index >= 0:
                    field = table.schema.field(index)
                    changed = change(table.column(index)).cast(field.type)
                    table = table.set_column(index, field, changed)
                super().write(record_type, table)

        return Changed(super().writer(staging, part))


def left_out(target):
    """As if a call of a function were not there."""
    return mock.patch(target, return_value=None)


# --- durability -----------------------------------------------------------------------------------


@planted(JsonlFile, "test_what_is_published_is_flushed")
class FileNotFlushed(JsonlFile):
    """The new file is not flushed to disk."""

    def publish(self, publication):
        with left_out("harvest_jsonl.file.fsync"):
            return super().publish(publication)


@planted(JsonlFile, "test_what_is_published_is_flushed")
class FlushedTooLate(JsonlFile):
    """The new file is flushed after it is renamed, when the manifest is in force already."""

    def publish(self, publication):
        with left_out("harvest_jsonl.file.fsync"):
            return super().publish(publication)

    def finish(self, publication):
        super().finish(publication)
        if self.path.exists():
            with self.path.open("rb") as file:
                os.fsync(file.fileno())


@planted(ParquetSink, "test_what_is_published_is_flushed")
class DirectoryNotFlushed(ParquetSink):
    """The directory that new files are moved to is not flushed."""

    def publish(self, publication):
        with left_out("harvest.api.directory_sink.fsync_directory"):
            return super().publish(publication)


@planted(JsonlDirectory, "test_what_is_published_is_flushed")
class NotFlushedWhenRepeated(JsonlDirectory):
    """A repeated publish() does not flush the names that the first had made when it failed."""

    def publish(self, publication):
        waiting = any(
            (directory / file.path).exists()
            for key, directory in publication.staged.items()
            for file in publication.parts[key]
        )
        flushing = "harvest.api.directory_sink.fsync_directory"
        with contextlib.nullcontext() if waiting else left_out(flushing):
            return super().publish(publication)


class Copying(ScaffoldSink):
    """Copies staged files."""

    def publish(self, publication):
        for key, directory in publication.staged.items():
            for file in publication.parts[key]:
                target = self._within(self.root, file.path)
                target.parent.mkdir(exist_ok=True)
                self.copy(self._within(directory, file.path), target)
                fsync_directory(target.parent)
        fsync_directory(self.root)
        return publication.parts


@planted(ScaffoldSink, "test_what_is_published_is_flushed")
class CopiedNotMoved(Copying):
    """Staged files, which are flushed, are copied to their place, and the copies are not."""

    def copy(self, source, target):
        shutil.copyfile(source, target)


@planted(ScaffoldSink, "test_what_is_published_is_flushed")
class FlushedBeforeWritten(Copying):
    """A file is flushed to disk while Python's buffer still holds its end."""

    def copy(self, source, target):
        with target.open("wb") as file:
            file.write(source.read_bytes()[:-8])
            file.flush()
            file.write(source.read_bytes()[-8:])
            os.fsync(file.fileno())


@planted(ScaffoldSink, "test_what_libraries_write_is_flushed")
class LibraryDoesNotFlush(Copying):
    """A library writes the new files, and does not flush them."""

    def check(self):
        super().check()
        if printable(self.location) != self.location:
            raise UsageError("the library takes no path that is not UTF-8")

    def copy(self, source, target):
        with pa.OSFile(str(target), "wb") as file:
            file.write(source.read_bytes())


# --- commits --------------------------------------------------------------------------------------


@planted(JsonlFile, "test_readers_see_old_or_new")
class RenamedInPublish(JsonlFile):
    """The new file takes the place of the old one before the manifest says so."""

    def publish(self, publication):
        final = super().publish(publication)
        self._next(publication.token).replace(self.path)
        return final


@planted(JsonlDirectory, "test_readers_see_old_or_new")
class RemovedInPublish(JsonlDirectory):
    """Old files are removed before the manifest says so."""

    def publish(self, publication):
        final = super().publish(publication)
        super().finish(attrs.evolve(publication, parts=final))
        return final


@planted(ScaffoldSink, "test_readers_see_old_or_new")
class OneNamePerPartition(ScaffoldSink):
    """A partition's file has the same name always, so that new rows overwrite the old ones."""

    def publish(self, publication):
        final = {}
        for key, files in publication.parts.items():
            final[key] = files
            directory = publication.staged.get(key)
            if directory is not None:
                final[key] = [self._move(directory, file) for file in files]
        return final

    def _move(self, directory, file):
        folder, name = file.path.split("/")
        path = f"{folder}/{name.rsplit('-', 1)[0]}-{'0' * 12}{self.suffix}"
        (self.root / folder).mkdir(exist_ok=True)
        (directory / file.path).replace(self.root / path)
        fsync_directory(self.root / folder)
        fsync_directory(self.root)
        return attrs.evolve(file, path=path)


@planted(JsonlFile, "test_commits_can_be_given_up")
class AnyNextFileIsRenamed(JsonlFile):
    """finish() takes whatever a killed run left for the commit in force."""

    def finish(self, publication):
        for left in sorted(self.state.glob("next-*")):
            left.replace(self.path)
        fsync_directory(self.root)


@planted(ScaffoldSink, "test_commits_can_be_given_up")
class LeftoversAreRead(ScaffoldSink):
    """scan() reads all files of the directory, those of killed commits too."""

    def scan(self, files, record_type):
        paths = sorted((self.root / record_type.name).glob("*.arrow"))
        named = [attrs.evolve(files[0], path=self._relative(path)) for path in paths if files]
        return super().scan(named, record_type)


@planted(JsonlFile, "test_commits_leave_nothing_behind")
class NextFilesStay(JsonlFile):
    """What commits that were given up had written is never removed."""

    def finish(self, publication):
        following = self._next(publication.token)
        if following.exists():
            following.replace(self.path)
            fsync_directory(self.root)


@planted(DuckdbSink, "test_publish_and_finish_can_be_repeated")
class FinishOnlyOnce(DuckdbSink):
    """finish() fails where it had been cut short and is repeated."""

    def finish(self, publication):
        self._next(publication.token).rename(self.path)
        fsync_directory(self.root)


@planted(JsonlDirectory, "test_native_readers_find_nothing_given_up")
class LeftoversStay(JsonlDirectory):
    """Files that a killed commit had published stay, and other readers take them for data."""

    def finish(self, publication):
        with mock.patch.object(type(self), "_files", return_value=()):
            super().finish(publication)


@planted(ParquetSink, "test_native_readers_find_what_is_committed")
class OldRowsStay(ParquetSink):
    """The files of replaced partitions stay beside the new ones."""

    def finish(self, publication):
        pass


@planted(ScaffoldSink, "test_native_readers_find_what_is_committed")
class DroppedRowsStay(ScaffoldSink):
    """The files of partitions that left the dataset stay."""

    def finish(self, publication):
        dropped = publication.old.keys() - publication.parts.keys()
        kept = {f"dropped {key}": publication.old[key] for key in dropped}
        self.kept = [*getattr(self, "kept", []), *(f for files in kept.values() for f in files)]
        parts = {**publication.parts, "": self.kept}
        super().finish(attrs.evolve(publication, parts=parts))


@planted(JsonlFile, "test_native_readers_find_what_is_committed")
class AppendedTwice(JsonlFile):
    """Each commit appends to the present file, where the replaced rows stay."""

    def publish(self, publication):
        final = dict(super().publish(publication))
        if self.path.exists():
            following = self._next(publication.token)
            new, old = following.read_bytes(), self.path.read_bytes()
            with following.open("wb") as file:
                file.write(old + new)
                file.flush()
                os.fsync(file.fileno())
            for key, files in final.items():
                final[key] = [attrs.evolve(f, offset=f.offset + len(old)) for f in files]
        return final


@planted(ScaffoldSink, "test_native_readers_may_read_at_any_step")
class ReplacedAfterRemoved(ScaffoldSink):
    """New files arrive in finish(), after the old ones are removed."""

    def publish(self, publication):
        self.later = publication
        folder = self.state / "later"
        final = {}
        for key, files in publication.parts.items():
            final[key] = files
            for file in files if key in publication.staged else ():
                (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
                (publication.staged[key] / file.path).replace(folder / file.path)
                fsync_directory((folder / file.path).parent)
        for place in (folder, self.state):
            if place.is_dir():
                fsync_directory(place)
        return final

    def finish(self, publication):
        super().finish(publication)
        for path in sorted((self.state / "later").glob("*/*")):
            target = self.root / path.parent.name / path.name
            target.parent.mkdir(exist_ok=True)
            path.replace(target)

    def paths(self, files):
        later = self.state / "later"
        found = ((self.root / f.path, later / f.path) for f in files)
        return [place if place.exists() else waiting for place, waiting in found]


@planted(DuckdbSink, "test_earlier_states_can_be_put_back")
class EarlierStatesNotUnderstood(DuckdbSink):
    """publish() takes the staged files of an earlier state for those of its own writer."""

    def publish(self, publication):
        parts = {
            key: [
                attrs.evolve(f, first_row=None) if key in publication.staged else f for f in files
            ]
            for key, files in publication.parts.items()
        }
        return super().publish(attrs.evolve(publication, parts=parts))


@planted(JsonlDirectory, "test_killed_commits_resume")
class LockStays(JsonlDirectory):
    """A lock file that a killed commit leaves behind stops all later ones."""

    def publish(self, publication):
        lock = self.state / "sink.lock"
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        final = super().publish(publication)
        lock.unlink()
        return final


# --- writers --------------------------------------------------------------------------------------


@planted(JsonlDirectory, "test_equal_rows_give_equal_bytes")
class RandomNames(JsonlDirectory):
    """Files have random names."""

    def writer(self, staging, part):
        return super().writer(staging, f"{part.rsplit('-', 1)[0]}-{secrets.token_hex(6)}")


@planted(ScaffoldSink, "test_equal_rows_give_equal_bytes")
class StampedFiles(ScaffoldSink):
    """Files hold the id of the process and a random number."""

    def writer(self, staging, part):
        class Stamped(Around):
            def write(self, record_type, table):
                stamp = {"written": f"{os.getpid()} {secrets.token_hex(4)}"}
                super().write(record_type, table.replace_schema_metadata(stamp))

        return Stamped(super().writer(staging, part))


@planted(ScaffoldSink, "test_writers_write_into_staging")
class WrittenIntoPlace(ScaffoldSink):
    """A writer writes where readers look, before anything is committed."""

    def writer(self, staging, part):
        sink = self

        class Early(Around):
            def close(self):
                written = super().close()
                for path, _, _ in written:
                    (sink.root / path).parent.mkdir(exist_ok=True)
                    shutil.copyfile(staging / path, sink.root / path)
                return written

        return Early(super().writer(staging, part))


@planted(ScaffoldSink, "test_writers_keep_apart")
class OneWriterPerSink(ScaffoldSink):
    """The sink has one present writer, so that two at a time share it."""

    def writer(self, staging, part):
        self.present = super().writer(staging, part)

        class Shared(Around):
            def write(self, record_type, table):
                self.sink.present.write(record_type, table)

        return Shared(self.present, self)


HELD: dict[Path, list] = {}


@planted(JsonlDirectory, "test_writers_work_in_other_processes")
class HeldInTheProcess(JsonlDirectory):
    """Rows wait in a variable of the module until the commit, which another process makes."""

    def writer(self, staging, part):
        class Holding(Around):
            def write(self, record_type, table):
                HELD.setdefault(staging, []).append(table)
                super().write(record_type, table)

        return Holding(super().writer(staging, part))

    def publish(self, publication):
        for directory in publication.staged.values():
            HELD.pop(directory)
        return super().publish(publication)


@planted(ParquetSink, "test_it_can_be_pickled")
class NotPicklable(ParquetSink):
    """The sink holds a lock, which cannot travel to workers."""

    def __init__(self, location, config=None):
        super().__init__(location, config)
        self.lock = threading.Lock()


@planted(ScaffoldSink, "test_memory_is_bounded")
class AllInMemory(ScaffoldSink):
    """A writer holds all rows until it is closed."""

    def writer(self, staging, part):
        class Gathering(Around):
            def write(self, record_type, table):
                self.__dict__.setdefault("held", []).append((record_type, table))

            def close(self):
                for record_type, table in self.__dict__.get("held", []):
                    super().write(record_type, table)
                return super().close()

        return Gathering(super().writer(staging, part))


# --- failures -------------------------------------------------------------------------------------


class Suppressing(ScaffoldSink):
    """Swallows errors of some methods of its writers."""

    silent = ()

    def writer(self, staging, part):
        writer = super().writer(staging, part)
        result = {"write": None, "close": []}
        for name in self.silent:
            setattr(writer, name, self._quiet(getattr(writer, name), result[name]))
        return writer

    def _quiet(self, method, otherwise):
        def quiet(*args):
            with contextlib.suppress(OSError):
                return method(*args)
            return otherwise

        return quiet


@planted(ScaffoldSink, "test_no_failure_is_swallowed")
class WriteErrorsSwallowed(Suppressing):
    """Errors while rows are written are passed over (except OSError: pass)."""

    silent = ("write",)


@planted(ScaffoldSink, "test_a_full_disk_is_told")
class CloseErrorsSwallowed(Suppressing):
    """Errors while files are closed are passed over."""

    silent = ("close",)


@planted(JsonlDirectory, "test_no_failure_is_swallowed")
class PublishErrorsSwallowed(JsonlDirectory):
    """A file that cannot be moved to its place is passed over."""

    def publish(self, publication):
        with contextlib.suppress(OSError):
            return super().publish(publication)
        return publication.parts


@planted(DuckdbSink, "test_no_failure_is_swallowed")
class PartialBatchKept(DuckdbSink):
    """Where a file cannot be opened, a batch is left out, and those before it are kept."""

    def writer(self, staging, part):
        class Lenient(Around):
            def write(self, record_type, table):
                with contextlib.suppress(OSError):
                    (staging / "log").touch()
                    super().write(record_type, table)

        return Lenient(super().writer(staging, part))


@planted(ScaffoldSink, "test_a_full_disk_is_told")
class ErrorsNobodyKnows(ScaffoldSink):
    """A full disk is raised as RuntimeError, which ends a run as a defect."""

    def writer(self, staging, part):
        class Wrapping(Around):
            def write(self, record_type, table):
                try:
                    super().write(record_type, table)
                except OSError as error:
                    raise RuntimeError("cannot write") from error

        return Wrapping(super().writer(staging, part))


@planted(DuckdbSink, "test_equal_rows_are_kept")
class InsertOrIgnore(DuckdbSink):
    """A primary key on origin and position, and INSERT OR IGNORE."""

    def writer(self, staging, part):
        class Unique(Around):
            def write(self, record_type, table):
                keys = ["origin", "position"]
                unique = pl.from_arrow(table.select(keys)).with_row_index().unique(keys)
                super().write(record_type, table.take(unique["index"].sort().to_arrow()))

        return Unique(super().writer(staging, part))


# --- values ---------------------------------------------------------------------------------------


@planted(ParquetSink, "test_rows_come_back[number]")
class NullIsZero(Changing, ParquetSink):
    """A number that is null becomes 0."""

    def changed(self, values):
        return pc.fill_null(values, 0.0) if values.type == pa.float64() else values


@planted(ScaffoldSink, "test_rows_come_back[number]")
class NanIsNull(Changing, ScaffoldSink):
    """NaN becomes null."""

    def changed(self, values):
        if values.type != pa.float64():
            return values
        return pc.if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)


@planted(JsonlDirectory, "test_rows_come_back[text]")
class EmptyTextIsNull(Changing, JsonlDirectory):
    """An empty text becomes null."""

    def changed(self, values):
        if values.type != pa.string():
            return values
        return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)


@planted(ParquetSink, "test_rows_come_back[id]")
class UnsignedThroughFloat(Changing, ParquetSink):
    """Unsigned integers of 64 bits go through float."""

    def changed(self, values):
        if values.type != pa.uint64():
            return values
        rounded = [None if v is None else min(int(float(v)), 2**64 - 1) for v in values.to_pylist()]
        return pa.chunked_array([pa.array(rounded, pa.uint64())])


@planted(DuckdbSink, "test_rows_come_back[time]")
class MillisecondsOnly(Changing, DuckdbSink):
    """Times lose their microseconds."""

    def changed(self, values):
        if not pa.types.is_timestamp(values.type):
            return values
        return values.cast(pa.timestamp("ms", "UTC"), safe=False)


class Rescanning(ScaffoldSink):
    """Gives rows otherwise than they are."""

    def scan(self, files, record_type):
        return self.given(super().scan(files, record_type))


@planted(ScaffoldSink, "test_rows_come_back[time]")
class ZoneLost(Rescanning):
    """Times come back without their zone."""

    def given(self, rows):
        times = pl.col(pl.Datetime("us", "UTC"))
        return rows.with_columns(times.dt.replace_time_zone(None))


@planted(ScaffoldSink, "test_rows_come_back[small_integer]")
class TypesDrift(Rescanning):
    """All integers come back with 64 bits."""

    def given(self, rows):
        return rows.with_columns(pl.col(pl.Int32).cast(pl.Int64))


@planted(ScaffoldSink, "test_rows_come_back[text]")
class ColumnsByName(Rescanning):
    """Columns come back in the order of their names."""

    def given(self, rows):
        return rows.select(sorted(rows.collect_schema()))


@planted(ScaffoldSink, "test_rows_come_back[lists]")
class NestedAsText(Rescanning):
    """Lists come back as the text of JSON."""

    def given(self, rows):
        as_text = pl.col(pl.List(pl.List(pl.Int64))).map_elements(
            lambda lists: json.dumps(lists.to_list()), return_dtype=pl.String
        )
        return rows.with_columns(as_text)


@planted(ScaffoldSink, "test_columns_may_be_added")
class LaterColumnsDropped(ScaffoldSink):
    """Columns that the first file lacks are dropped from the others."""

    def scan(self, files, record_type):
        rows = super().scan(files, record_type)
        mine = [file for file in files if file.record_type == record_type.name]
        if not mine:
            return rows
        with self.paths(mine)[0].open("rb") as file:
            known = pa.ipc.open_file(file).schema.names
        others = [name for name in rows.collect_schema() if name not in known]
        return rows.with_columns(pl.lit(None).alias(name) for name in others).cast(
            {name: rows.collect_schema()[name] for name in others}
        )


@planted(ScaffoldSink, "test_nothing_to_write")
class NoRowsNoFile(ScaffoldSink):
    """A partition without rows is forgotten, and close() fails."""

    def writer(self, staging, part):
        class Expecting(Around):
            def close(self):
                written = super().close()
                if not written:
                    raise KeyError(part)
                return written

        return Expecting(super().writer(staging, part))


@planted(JsonlDirectory, "test_batches_types_and_partitions")
class LastBatchFirst(JsonlDirectory):
    """Batches are put on a stack, and come back in reverse."""

    def scan(self, files, record_type):
        return super().scan(list(reversed(files)), record_type)


# --- counts ---------------------------------------------------------------------------------------


@planted(JsonlDirectory, "test_rows_are_counted")
class FirstRowsDropped(JsonlDirectory):
    """A writer drops the first row of each batch, and close() reports the rest."""

    def writer(self, staging, part):
        class Dropping(Around):
            def write(self, record_type, table):
                super().write(record_type, table.slice(1))

        return Dropping(super().writer(staging, part))


@planted(ParquetSink, "test_rows_are_counted")
class MoreReported(ParquetSink):
    """close() reports a row more than it got."""

    def writer(self, staging, part):
        class Boasting(Around):
            def close(self):
                return [(path, name, rows + 1) for path, name, rows in super().close()]

        return Boasting(super().writer(staging, part))


@planted(JsonlFile, "test_rows_are_counted")
class OneBatchReported(JsonlFile):
    """close() counts in 16 bits, so that rows beyond 65,536 are not reported."""

    def writer(self, staging, part):
        class Narrow(Around):
            def close(self):
                return [(path, name, rows % 65_536) for path, name, rows in super().close()]

        return Narrow(super().writer(staging, part))


@planted(JsonlDirectory, "test_rows_are_counted")
class PartLostInPublish(JsonlDirectory):
    """publish() leaves out the files of the last partition."""

    def publish(self, publication):
        final = dict(super().publish(publication))
        if final:
            final[max(final)] = []
        return final


@planted(ParquetSink, "test_rows_are_counted")
class SmallPartsForgotten(ParquetSink):
    """publish() writes the rows of small partitions together, and describes those of the first."""

    def publish(self, publication):
        final = dict(super().publish(publication))
        for key in sorted(publication.small)[1:]:
            final[key] = []
        return final


# --- places ---------------------------------------------------------------------------------------


@planted(ScaffoldSink, "test_names_of_any_bytes")
class QuotedLocation(ScaffoldSink):
    """The location is quoted as in a URL, so that a space becomes %20."""

    @property
    def root(self):
        return Path(urllib.parse.quote(self.location, errors="replace"))


@planted(ScaffoldSink, "test_paths_lead_nowhere")
class PathsAreFollowed(ScaffoldSink):
    """Paths of the manifest are followed wherever they lead."""

    def _within(self, base, path):
        return base / path


@planted(ParquetSink, "test_commits_leave_nothing_behind")
class LogInWorkingDirectory(ParquetSink):
    """Each commit writes a line to a log in the working directory."""

    def publish(self, publication):
        with Path("sink.log").open("a") as log:
            log.write(f"{publication.token}\n")
        return super().publish(publication)


@planted(ScaffoldSink, "test_commits_leave_nothing_behind")
class TemporaryFilesStay(ScaffoldSink):
    """Temporary files stay in the system's directory for them."""

    def publish(self, publication):
        number, _ = tempfile.mkstemp()
        os.close(number)
        return super().publish(publication)


@planted(JsonlFile, "test_commits_leave_nothing_behind")
class BackupsStay(JsonlFile):
    """Each commit leaves a copy of the file before it."""

    def publish(self, publication):
        if self.path.exists():
            copy = self.state / f"backup-{publication.token}"
            shutil.copyfile(self.path, copy)
            with copy.open("rb") as file:
                os.fsync(file.fileno())
        return super().publish(publication)


@planted(ScaffoldSink, "test_what_others_wrote_is_kept")
class DirectoryEmptied(ScaffoldSink):
    """Everything in the location that the manifest does not name is removed."""

    def finish(self, publication):
        super().finish(publication)
        for path in self.root.iterdir():
            if path.is_file():
                path.unlink()


@planted(ScaffoldSink, "test_no_global_state")
class LocaleChanged(ScaffoldSink):
    """The sink sets the locale of the process."""

    def publish(self, publication):
        locale.setlocale(
            locale.LC_ALL, "C.UTF-8" if locale.setlocale(locale.LC_ALL) == "C" else "C"
        )
        return super().publish(publication)


# --- changes by others ----------------------------------------------------------------------------


@planted(DuckdbSink, "test_foreign_changes_are_noticed")
class ForeignChangesCarriedOver(DuckdbSink):
    """Rows of a database that others changed are carried over, and described anew."""

    def publish(self, publication):
        with mock.patch("harvest_duckdb.sink._is", lambda path, _: path.is_file()):
            return super().publish(publication)


@planted(ScaffoldSink, "test_foreign_changes_are_noticed")
class NoChecksum(ScaffoldSink):
    """Files are described without a checksum of what is in them."""

    def publish(self, publication):
        final = super().publish(publication)
        return {k: [attrs.evolve(f, sha256="0" * 64) for f in files] for k, files in final.items()}


# --- what cannot be found from outside ------------------------------------------------------------


@planted(
    ScaffoldSink,
    None,
    "on one machine processes have different ids; it takes two machines that write at once",
)
class NamesByProcessId(ScaffoldSink):
    """Temporary files below the state are named by the process id, which two machines share."""

    def publish(self, publication):
        scratch = self.state / f"scratch-{os.getpid()}"
        scratch.touch()
        scratch.unlink()
        return super().publish(publication)


@planted(
    ParquetSink,
    None,
    "it takes more rows than a test should write; the kit writes 655,360",
)
class RowsBeyondTenMillion(ParquetSink):
    """Rows of a partition beyond the first ten million are left out."""

    def writer(self, staging, part):
        class Ending(Around):
            rows = 0

            def write(self, record_type, table):
                self.rows += table.num_rows
                if self.rows <= 10_000_000:
                    super().write(record_type, table)

        return Ending(super().writer(staging, part))


@planted(
    JsonlFile,
    None,
    "it breaks no promise: until the manifest names the file no reader opens it, and a power cut "
    "leaves a leftover as any kill does",
)
class RenamedBeforeFlushed(JsonlFile):
    """Within publish(), a file is renamed first and flushed then."""

    def publish(self, publication):
        with left_out("harvest_jsonl.file.fsync"):
            final = super().publish(publication)
        following = self._next(publication.token)
        passing = following.rename(self.state / "passing")
        passing.rename(following)
        with following.open("rb") as file:
            os.fsync(file.fileno())
        fsync_directory(self.state)
        return final
