"""Sinks that write a directory of files: ``<record type>/<part><suffix>`` below the location.

Each part has its own files, one for each of its record types. Publishing moves them into place next
to the old files; every file that the old manifest names stays. Finishing removes files that the new
manifest does not name. A subclass defines how one file is written (``writer``) and how files are
read (``scan``).
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final

import attrs

from harvest import fault
from harvest.errors import DatasetError, UsageError
from harvest.toolkit.files import fsync_directory
from harvest.toolkit.plain import is_content, refuse_link, require_plain, take_away

from .sink import PartFile, Publication, Sink

_TYPE: Final = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z0-9_]+)+")
"""Name of a record type, which is also the name of a directory."""

_STEM: Final = re.compile(r"[A-Za-z0-9_-]{1,40}-[0-9a-f]{16}-[0-9a-f]{12}(?:-[0-9a-f]{12})?")
"""A part's stem as the core makes it: words, key, state; ``publish`` may add a checksum.

Files that no manifest names are removed only if their names have this form.
"""

_TAG: Final = 12
"""Number of checksum digits that distinguish two contents of one part."""


class DirectorySink(Sink):
    """Base of sinks whose location is a directory of parts.

    suffix: suffix of the files, with the dot.
    """

    suffix: ClassVar[str]

    @cached_property
    def root(self) -> Path:
        """The directory given as location."""
        return Path(os.path.abspath(Path(self.location).expanduser()))  # noqa: PTH100 - keeps links

    def place(self, record_type: str, part: str) -> str:
        """Return the path of a part's file, relative to the staging directory and to root."""
        return f"{record_type}/{part}{self.suffix}"

    def check(self) -> None:
        """Raise UsageError if the location is a file or holds rows that harvest did not write."""
        root = self.root
        if root.exists() and not root.is_dir():
            problem = f"sink {self.name!r} writes a directory, and this is a file"
            raise UsageError(problem, where=str(root), remedy="give the path of a directory")
        for path in root.iterdir() if root.is_dir() else ():
            if path.is_symlink() and _TYPE.fullmatch(path.name):
                problem = "this is a symbolic link, through which rows would be written elsewhere"
                remedy = "replace the link by the directory itself"
                raise UsageError(problem, where=str(path), remedy=remedy)
        known = self.state.is_dir()
        for path in self._files():
            if not known or not _STEM.fullmatch(self._stem(path)):
                raise UsageError(
                    "this file is not of a harvest dataset, but readers of the directory would "
                    "take its rows for part of one",
                    where=str(path),
                    remedy="write to another directory, or move the file elsewhere",
                )

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Move staged files into place; durable when it returns.

        It can be repeated after an interruption: files already in place stay there. Raises
        DatasetError for a staged file that is neither in staging nor in place.
        """
        held = publication.old.paths()
        touched: set[Path] = set()
        placed: dict[tuple[Path, str], str] = {}  # a shared file is moved only once
        final: dict[str, Sequence[PartFile]] = {}
        for key, files in publication.parts.pick(publication.staged).items():
            directory = publication.staged[key]
            for file in files:
                if (directory, file.path) not in placed:
                    moved = self._publish(file, directory, held, touched)
                    placed[directory, file.path] = moved.path
            final[key] = [attrs.evolve(f, path=placed[directory, f.path]) for f in files]
        for path in sorted(touched):
            fsync_directory(path)
        return final

    def _publish(
        self, file: PartFile, directory: Path, held: set[str], touched: set[Path]
    ) -> PartFile:
        staged = self._within(directory, file.path)
        for path in (file.path, self._path_with_tag(file)):
            place = self._within(self.root, path)
            moved = attrs.evolve(file, path=path)
            if is_content(place, file.sha256, file.size_bytes):
                # the same content, from an interrupted commit or a part read again unchanged
                staged.unlink(missing_ok=True)
                if path not in held:  # its directory may not be flushed yet
                    touched |= {place.parent, place.parent.parent}
                return moved
            if path in held:
                continue  # other content of the same part, in force until the commit
            if not staged.is_file():
                continue
            if not place.parent.is_dir():
                place.parent.mkdir(parents=True)
                touched.add(place.parent.parent)
            staged.replace(place)
            fault.point("directory.published")
            touched.add(place.parent)
            return moved
        remedy = "run again; its input is read again then"
        raise DatasetError("a staged file is missing", where=str(staged), remedy=remedy)

    def _path_with_tag(self, file: PartFile) -> str:
        path = PurePosixPath(file.path)
        stem = path.name.removesuffix(self.suffix)
        return str(path.with_name(f"{stem}-{file.sha256[:_TAG]}{self.suffix}"))

    def finish(self, publication: Publication) -> None:
        """Remove files that the new manifest does not name, and empty directories."""
        named = publication.parts.paths()
        replaced = publication.old.paths() - named
        touched: set[Path] = set()
        for path in [self._within(self.root, path) for path in replaced]:
            touched |= self._remove(path)
        for path in list(self._files()):
            known = f"{path.parent.name}/{path.name}" in named
            if _STEM.fullmatch(self._stem(path)) and not known:
                touched |= self._remove(path)
        for directory in sorted(touched):
            if not directory.is_dir():
                continue
            if any(os.scandir(directory)):
                fsync_directory(directory)
            else:
                directory.rmdir()
                fsync_directory(directory.parent)

    def _remove(self, path: Path) -> set[Path]:
        """Remove a file if it exists; return the changed directory, if any."""
        fault.point("directory.remove")
        if not os.path.lexists(path):
            return set()
        take_away(path, self.state)
        return {path.parent}

    def paths(self, files: Iterable[PartFile]) -> list[Path]:
        """Return paths of committed files; raise DatasetError for one that leads out of root."""
        paths = []
        for file in files:
            paths.append(self.kept(file) or self._within(self.root, file.path))
            require_plain(paths[-1], file.size_bytes)
        return paths

    def _within(self, base: Path, path: str) -> Path:
        """Return ``base / path``; raise DatasetError if it is not a file of a record type."""
        parts = PurePosixPath(path).parts
        if len(parts) != 2 or not _TYPE.fullmatch(parts[0]) or not path.endswith(self.suffix):
            problem = f"{path!r} is not the path of a part"
            remedy = "restore the manifest from a backup, or harvest into a new directory"
            raise DatasetError(problem, where=str(self.root), remedy=remedy)
        refuse_link(base / parts[0])
        return base.joinpath(*parts)

    def _files(self) -> Iterator[Path]:
        """Yield all files that a reader's glob over the record types' directories would find."""
        if not self.root.is_dir():
            return
        for directory in sorted(self.root.iterdir()):
            if _TYPE.fullmatch(directory.name) and directory.is_dir():
                yield from sorted(directory.glob(f"*{self.suffix}"))

    def _stem(self, path: Path) -> str:
        return path.name.removesuffix(self.suffix)
