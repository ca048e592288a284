"""``jsonl:FILE.jsonl[.gz|.zst]``: one file of all rows in the shape of the events model.

The file is the concatenation of one piece per partition: plain text, a gzip member or a zstd frame.
A commit writes the next file in the state directory. It copies new pieces from staging, and
unchanged ones as byte ranges of the current file. Renaming the next file finishes the commit.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import attrs
import polars as pl

import harvest
from harvest import DatasetError, PartFile, Publication, RecordType, Sink, UsageError, fault
from harvest.toolkit.files import fsync, fsync_directory
from harvest.toolkit.plain import checksum_range
from harvest.toolkit.texts import printable

from .codecs import codec_of
from .piece_writer import PieceWriter
from .reading import Stretch, identity_of, scan_rows


class JsonlFile(Sink):
    """A sink that writes one file, ordered by source, partition and position."""

    name = "jsonl"

    @property
    def path(self) -> Path:
        """Absolute path of the file; links are kept."""
        return Path(os.path.abspath(Path(self.location).expanduser()))  # noqa: PTH100 - keeps links

    @property
    def root(self) -> Path:
        """Directory of the file."""
        return self.path.parent

    @property
    def state(self) -> Path:
        """State directory ``FILE._harvest``, next to the file."""
        return self.path.with_name(self.path.name + "._harvest")

    def check(self) -> None:
        """Raise UsageError for a directory, a name that is not UTF-8, or a file not of harvest."""
        if self.path.is_dir():
            problem = "this is a directory, but its name is one of a file"
            remedy = "give the path of a file, or of a directory without this ending"
            raise UsageError(problem, where=str(self.path), remedy=remedy)
        shown = printable(self.path.name)
        if shown != self.path.name:
            problem = "the manifest, which is JSON, cannot hold a file's name that is not UTF-8"
            remedy = "give the file another name; its directory may have any"
            raise UsageError(problem, where=shown, remedy=remedy)
        if self.path.exists() and self.path.stat().st_size and not self.state.is_dir():
            problem = "the file was not written by harvest and would be replaced"
            remedy = "give another path, or move the file away"
            raise UsageError(problem, where=str(self.path), remedy=remedy)

    def writer(self, staging: Path, part: str) -> harvest.PartWriter:
        """Return a writer of one partition's piece."""
        level = getattr(self.config, "level", None)
        return PieceWriter(staging / self.path.name, codec_of(self.path.name), level)

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Write and sync the complete next file; leave the current one unchanged.

        Raises DatasetError if a piece to copy is damaged.
        """
        final: dict[str, list[PartFile]] = {}
        following = self._next(publication.token)
        with following.open("wb") as out:
            if self.path.exists():
                shutil.copymode(self.path, following)
            for key, files in publication.parts.items():
                staged = publication.staged.get(key)
                final[key] = [self._append(out, file, staged) for file in files]
                fault.point("file.spliced")
            out.flush()
            fsync(out.fileno())
        fsync_directory(self.state)
        return final

    def _append(self, out: IO[bytes], file: PartFile, staged: Path | None) -> PartFile:
        source, start = (staged / file.path, 0) if staged else (self.path, file.offset or 0)
        offset = out.tell()
        if not _copy(source, start, file, out):
            problem = f"the piece at byte {start} is not what was written there (checksum)"
            remedy = "run again with --force, which reads all inputs again"
            raise DatasetError(problem, where=str(source), remedy=remedy)
        return attrs.evolve(file, path=self.path.name, offset=offset)

    def finish(self, publication: Publication) -> None:
        """Rename the commit's file to the location; remove files of other, unfinished commits."""
        following = self._next(publication.token)
        fault.point("file.before_rename")
        if following.exists():
            following.replace(self.path)
            fsync_directory(self.root)
        fault.point("file.after_rename")
        for left in self.state.glob("next-*"):
            fault.point("file.remove")
            left.unlink()

    def _next(self, token: str) -> Path:
        return self.state / f"next-{token}"

    def held_in(self, file: PartFile) -> Path:
        """Return the path of the file that holds a piece."""
        try:
            return self._holding([file])[0]
        except DatasetError:  # the piece is damaged
            return self.path

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """Return the rows of one record type as a lazy frame."""
        mine = [file for file in files if file.record_type in (record_type.name, "events")]
        present = self._holding([file for file in mine if self.kept(file) is None])
        # a next file that has been renamed since is now the current file
        known = frozenset(identity_of(path) or identity_of(self.path) for path in present)
        codec = codec_of(self.path.name)
        stretches = []
        for file in mine:
            kept = self.kept(file)
            place = (kept or present[0], file.offset or 0, file.size_bytes)
            identities = frozenset([identity_of(kept)]) if kept else known
            stretches.append(Stretch(*place, codec, identities, renamed=self.path))
        return scan_rows(record_type, stretches, events=True)

    def _holding(self, files: Sequence[PartFile]) -> list[Path]:
        """Return the files that hold all of these pieces; raise DatasetError if there is none.

        Between a commit and its rename this is the next file. It is also the current file if that
        has the same bytes at the same offsets.
        """
        following = sorted(self.state.glob("next-*"))
        if not following:
            return [self.path]
        # the next file may be renamed during the search
        for paths in ([self.path, *following], [self.path]):
            found = [p for p in paths if all(_copy(p, f.offset or 0, f, None) for f in files)]
            if found:
                return found
        problem = "no file holds what the manifest names"
        remedy = "restore it from a backup, or run again with --force"
        raise DatasetError(problem, where=str(self.path), remedy=remedy)


def _copy(source: Path, start: int, file: PartFile, out: IO[bytes] | None) -> bool:
    """Copy a piece, or only read it if ``out`` is None; return whether its checksum matches."""
    try:
        return checksum_range(source, start, file.size_bytes, out) == file.sha256
    except FileNotFoundError:
        return False
