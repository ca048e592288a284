"""The files of a dataset's parts, as a sink gets them: made when they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from harvest.api.sink import PartFile, PartFiles

from .parts import Parts

__all__ = ["StoredFiles"]


class StoredFiles(PartFiles):
    """The files of parts, by key and in the dataset's order."""

    def __init__(self, parts: Parts):
        self._parts = parts

    def __getitem__(self, key: str) -> Sequence[PartFile]:
        return self._parts[key].files

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __contains__(self, key: object) -> bool:
        return key in self._parts

    def items(self):  # type: ignore[no-untyped-def]
        """Keys and files, in the dataset's order."""
        return ((part.key, part.files) for part in self._parts.each())

    def values(self):  # type: ignore[no-untyped-def]
        """Files, in the dataset's order."""
        return (part.files for part in self._parts.each())

    @cached_property
    def _paths(self) -> set[str]:
        return {file.path for file in self._parts.files()}

    def paths(self) -> set[str]:
        """Paths of all files."""
        return self._paths

    def pick(self, keys: Iterable[str]) -> Mapping[str, Sequence[PartFile]]:
        """The files of some keys, in the dataset's order."""
        return self._parts.pick_files(keys)

    def shared_rows(self) -> dict[tuple[str, int], int]:
        """Of each shared file, by path and rows in all, how many rows are those of parts here."""
        return self._parts.shared_rows()

    def users_of(self, paths: Collection[str]) -> list[str]:
        """Keys of those with rows in these files, in the dataset's order."""
        return self._parts.users_of(paths)
