"""The files of a dataset's parts; the columns answer questions about all of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.sink import PartFile, PartFiles

from .columns import FILES, KEYS, file_of, reject_of
from .parts import Parts, by_name


class StoredFiles(PartFiles):
    """The files of parts, by key and in the dataset's order; built on request."""

    def __init__(self, parts: Parts):
        self._parts = parts

    def __getitem__(self, key: str) -> Sequence[PartFile]:
        ((_, files),) = self._at([self._parts.row_by_key[key]])
        return files

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def items(self) -> Any:
        return self._at(self._parts.in_order(self._parts.rows))

    def values(self) -> Any:
        return (files for _, files in self.items())

    def pick(self, keys: Iterable[str]) -> Mapping[str, Sequence[PartFile]]:
        return dict(self._at(self._parts.rows_picked(keys)))

    def _at(self, rows: Sequence[int]) -> Iterator[tuple[str, tuple[PartFile, ...]]]:
        for row in self._parts.read(rows, KEYS, FILES):
            yield row["key"].hex(), tuple(file_of(**piece) for piece in row["files"])

    def texts(self, among: pa.BooleanArray | None = None) -> pa.Array:
        """Return the encoded files of rows of ``Parts.table``, each at least once."""
        found = [
            pc.unique(values.column("file")).dictionary_decode()
            for values in self._parts.spread(FILES, "files", among)
        ]
        return pa.concat_arrays([pa.array([], pa.string()), *found])

    def distinct(self) -> list[PartFile]:
        """Return each file with rows once; its row range is that of one of its parts."""
        return [file_of(text) for text in self.texts().unique().to_pylist()]

    @cached_property
    def _paths(self) -> set[str]:
        return {file.path for file in self.distinct()}

    def paths(self) -> set[str]:
        return self._paths

    def shared_rows(self) -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = {}
        for text, rows in self._parts.sums(FILES, "files", "file", "rows").items():
            file = file_of(text)
            if file.file_rows is not None:
                known = (file.path, file.file_rows)
                found[known] = found.get(known, 0) + rows
        return found

    def users_of(self, paths: Collection[str]) -> list[str]:
        return self.users_where(lambda file: file.path in paths)

    def users_where(self, wanted: Callable[[PartFile], bool]) -> list[str]:
        """Return the keys of parts with rows in the wanted files, in the dataset's order."""
        rows: list[int] = []
        for values in self._parts.spread(FILES, "files"):
            for file in values.column("file").chunks:
                is_wanted = pa.array(
                    [wanted(file_of(text)) for text in file.dictionary.to_pylist()], pa.bool_()
                )
                rows += values.column("row").filter(is_wanted.take(file.indices)).to_pylist()
        return list(self._parts.keys_at(self._parts.in_order(set(rows))))

    def reject_texts(self, among: pa.BooleanArray | None = None) -> pa.ChunkedArray:
        """Return the encoded files of rejects of rows of ``Parts.table``, each at least once."""
        among = self._parts.counting if among is None else among
        return self._parts.table(FILES).column("rejects").filter(among).drop_null()

    def rejects(self) -> list[PartFile]:
        return [reject_of(text) for text in self.reject_texts().to_pylist()]

    def of_type(self, name: str) -> list[PartFile]:
        """Return the files of one record type, each once with all its rows, in the dataset's order.

        If parts do not own all rows of a file, the file is listed once for each of these parts.
        """
        # for each file: the number of rows that parts own, and the row of its first part
        found: dict[str, tuple[int, int]] = {}
        for values in self._parts.spread(FILES, "files"):
            for text, rows, row in by_name(values, "file", "rows"):
                kind = file_of(text).record_type
                if kind == "events":
                    return list(self._one_by_one(name))
                if kind == name:
                    before, first = found.get(text, (0, row))
                    found[text] = before + rows, first
        files = [(file_of(text), *use) for text, use in found.items() if use[0]]
        if any(file.file_rows not in (None, rows) for file, rows, _ in files):
            return list(self._one_by_one(name))
        place = {row: at for at, row in enumerate(self._parts.in_order({f[2] for f in files}))}
        files.sort(key=lambda item: (place[item[2]], item[0].path))
        return [
            attrs.evolve(file, rows=rows, first_row=None if file.file_rows is None else 0)
            for file, rows, _ in files
        ]

    def _one_by_one(self, name: str) -> Iterator[PartFile]:
        for part in self._parts.values():
            if part.rows.get(name):
                yield from (file for file in part.files if file.record_type in (name, "events"))
