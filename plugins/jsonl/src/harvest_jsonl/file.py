"""``jsonl:FILE.jsonl[.gz|.zst]``: one file of all rows in the shape of the events model.

The file is the pieces of its partitions one after the other; each is a text, a gzip member or a
zstd frame of its own.  A commit writes the next file next to it, in the state directory: new pieces
from staging, unchanged ones as byte ranges of the present file.  Its rename finishes the commit.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import attrs
import polars as pl

from harvest import (
    DatasetError,
    PartFile,
    PartWriter,
    Publication,
    RecordType,
    Sink,
    UsageError,
    fault,
)
from harvest.toolkit.files import fsync, fsync_directory
from harvest.toolkit.plain import checksum_range
from harvest.toolkit.texts import printable

from .codecs import codec_of
from .piece_writer import PieceWriter
from .reading import Stretch, identity_of, scan_events


class JsonlFile(Sink):
    """Writes one file, ordered by source, partition and position."""

    name = "jsonl"

    @property
    def path(self) -> Path:
        """The file."""
        return Path(os.path.abspath(Path(self.location).expanduser()))  # noqa: PTH100 - keeps links

    @property
    def root(self) -> Path:
        """The directory that the file is in."""
        return self.path.parent

    @property
    def state(self) -> Path:
        """``FILE._harvest`` next to the file."""
        return self.path.with_name(self.path.name + "._harvest")

    def check(self) -> None:
        """Raise UsageError when the location is a directory or a file that is not harvest's."""
        if self.path.is_dir():
            raise UsageError(
                "this is a directory, but its name is one of a file",
                where=str(self.path),
                remedy="give the path of a file, or of a directory without this ending",
            )
        shown = printable(self.path.name)
        if shown != self.path.name:
            raise UsageError(
                "the manifest, which is JSON, cannot hold a file's name that is not UTF-8",
                where=shown,
                remedy="give the file another name; its directory may have any",
            )
        if self.path.exists() and self.path.stat().st_size and not self.state.is_dir():
            raise UsageError(
                "the file was not written by harvest and would be replaced",
                where=str(self.path),
                remedy="give another path, or move the file away",
            )

    def writer(self, staging: Path, part: str) -> PartWriter:
        """A writer of one partition's piece."""
        level = getattr(self.config, "level", None)
        return PieceWriter(staging / self.path.name, codec_of(self.path.name), level)

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Write the next file in full, durably; the present one stays as it is.

        Raises DatasetError when a piece to keep is damaged.
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
            raise DatasetError(
                f"the piece at byte {start} is not what was written there (checksum)",
                where=str(source),
                remedy="run again with --force, which reads all inputs again",
            )
        return attrs.evolve(file, path=self.path.name, offset=offset)

    def finish(self, publication: Publication) -> None:
        """Rename the commit's file into place; remove others that were never committed."""
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
        """The file that holds a piece."""
        try:
            return self._holding([file])[0]
        except DatasetError:  # it is damaged
            return self.path

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """The rows of one record type, lazily."""
        mine = [file for file in files if file.record_type in (record_type.name, "events")]
        present = self._holding([file for file in mine if self.kept(file) is None])
        # one that was renamed since is the present one now
        known = frozenset(identity_of(path) or identity_of(self.path) for path in present)
        codec = codec_of(self.path.name)
        stretches = []
        for file in mine:
            kept = self.kept(file)
            place = (kept or present[0], file.offset or 0, file.size_bytes)
            identities = frozenset([identity_of(kept)]) if kept else known
            stretches.append(Stretch(*place, codec, identities, renamed=self.path))
        return scan_events(record_type, stretches)

    def _holding(self, files: Sequence[PartFile]) -> list[Path]:
        """The files that hold these pieces.

        Between a commit and its rename that is the next one; the present one too where it has the
        same in the same place.
        """
        following = sorted(self.state.glob("next-*"))
        if not following:
            return [self.path]
        # the rename may come while it is looked for
        for paths in ([self.path, *following], [self.path]):
            found = [p for p in paths if all(_copy(p, f.offset or 0, f, None) for f in files)]
            if found:
                return found
        raise DatasetError(
            "no file holds what the manifest names",
            where=str(self.path),
            remedy="restore it from a backup, or run again with --force",
        )


def _copy(source: Path, start: int, file: PartFile, out: IO[bytes] | None) -> bool:
    """Copy a piece, or only look at it; whether it has its checksum."""
    try:
        return checksum_range(source, start, file.size_bytes, out) == file.sha256
    except FileNotFoundError:
        return False
