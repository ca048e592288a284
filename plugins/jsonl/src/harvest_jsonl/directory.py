"""``jsonl:DIR``: a directory of parts, with one file for each record type of a part."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import attrs
import polars as pl
import pyarrow as pa

from harvest import DirectorySink, PartFile, PartWriter, RecordType
from harvest.model.json import encode_lines

from .codecs import Output
from .reading import Stretch, scan_rows


class JsonlDirectory(DirectorySink):
    """A sink that writes ``DIR/<record type>/<part>.jsonl``, an object of all columns per line."""

    name = "jsonl"
    suffix: ClassVar[str] = ".jsonl"

    def writer(self, staging: Path, part: str) -> PartWriter:
        """Return a writer of one partition."""
        return _PartWriter(staging, partial(self.place, part=part))

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """Return the rows of one record type as a lazy frame."""
        mine = [file for file in files if file.record_type == record_type.name]
        stretches = [
            Stretch(path, 0, file.size_bytes, "plain")
            for path, file in zip(self.paths(mine), mine, strict=True)
        ]
        return scan_rows(record_type, stretches)


@attrs.define(eq=False)
class _PartWriter(PartWriter):
    _staging: Path
    _place: Callable[[str], str]
    _outputs: dict[str, Output] = attrs.field(factory=dict)
    _rows: Counter[str] = attrs.field(factory=Counter)

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        name = record_type.name
        if name not in self._outputs:
            path = self._staging / self._place(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._outputs[name] = Output(path, "plain")
        self._outputs[name].write(encode_lines(record_type, table))
        self._rows[name] += table.num_rows

    def close(self) -> Sequence[tuple[str, str, int]]:
        for output in self._outputs.values():
            output.close()
        return [(self._place(name), name, rows) for name, rows in self._rows.items()]

    def abort(self) -> None:
        for output in self._outputs.values():
            output.drop()
