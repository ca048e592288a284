"""Finding, checking and reading Parquet files of ``gpfs.file``."""

import glob
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import attrs
import polars as pl
import pyarrow as pa

import harvest
from harvest import DatasetError, UsageError
from harvest.model.frames import no_rows, plain_columns, polars_schema, scan_parquet

from ..records import GpfsFile

_KIND: Final = harvest.record_type(GpfsFile)
COLUMNS: Final = polars_schema(_KIND)

_TEXT_OVERHEAD: Final = 16
"""Bytes in memory of a text, in addition to its characters."""


@attrs.frozen
class ParquetFile:
    """A file with rows of ``gpfs.file``.

    rows: number of rows; groups: number of rows in each row group.
    text_bytes: uncompressed bytes of each text column.
    hive: columns in directory names (``uid=1000/``) that the file itself lacks.
    """

    path: str
    rows: int
    groups: tuple[int, ...]
    text_bytes: dict[str, int]
    hive: tuple[tuple[str, str], ...] = ()

    def bytes_of(self, columns: Collection[str]) -> int:
        """Estimate the memory for values of some columns."""
        texts = [self.text_bytes[name] for name in columns if name in self.text_bytes]
        others = len(set(columns)) - len(texts)
        return self.rows * (8 * others + _TEXT_OVERHEAD * len(texts)) + sum(texts)


@attrs.frozen
class Piece:
    """A range of rows of a file: the unit of distributed work."""

    path: str
    offset: int
    rows: int
    hive: tuple[tuple[str, str], ...] = ()


def find(inputs: str | Path | Sequence[str | Path]) -> list[ParquetFile]:
    """Find the files of all inputs, without repetition, in the order of inputs and names.

    inputs: datasets of the sink parquet, directories (searched at any depth), files, patterns.

    Raises UsageError for an input without files, DatasetError for a file that is not a Parquet file
    of ``gpfs.file``.
    """
    listed = [inputs] if isinstance(inputs, (str, Path)) else inputs
    found = dict.fromkeys(path for item in listed for path in _paths(item))
    if not found:
        raise UsageError("no input", remedy="name a dataset, Parquet files or a directory of them")
    return [_checked(path) for path in found]


def _paths(item: str | Path) -> list[str]:
    path = Path(item).expanduser().absolute()
    if path.is_file():
        return [str(path)]
    if path.is_dir():
        return (_committed if (path / "_harvest").is_dir() else _below)(path)
    matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - any text may be given
    if not matches:
        raise UsageError("no such file or directory", where=str(path), remedy=_NAME)
    return [file for match in matches for file in _paths(match)]


def _below(path: Path) -> list[str]:
    found = [
        str(file)
        for file in sorted(path.rglob("*.parquet"))
        # by convention of Parquet readers, names with _ or . belong to the writer
        if not any(part[0] in "._" for part in file.relative_to(path).parts)
    ]
    if not found:
        raise UsageError("no *.parquet below this directory", where=str(path), remedy=_NAME)
    return found


_NAME: Final = (
    "name a dataset, Parquet files, a pattern as 'lists/*.parquet', or a directory of them"
)


def _committed(path: Path) -> list[str]:
    dataset = harvest.open(path)
    if dataset.sink.name != "parquet":
        said = f"this dataset is written by the sink {dataset.sink.name!r}, not parquet"
        remedy = "use the view gpfs.usage, or harvest into parquet:DIR"
        raise UsageError(said, where=str(path), remedy=remedy)
    return [str(dataset.sink.root / file.path) for file in dataset.files(_KIND.name)]


def _checked(path: str) -> ParquetFile:
    import pyarrow.parquet as pq  # imported late: views that read no metadata start without it

    try:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(
            f"this is not a Parquet file: {error}", where=path, remedy="leave it out"
        ) from error
    named = dict(part.split("=", 1) for part in Path(path).parent.parts if "=" in part)
    lacking = COLUMNS.keys() - set(schema.names)
    hive = {name: unquote(text) for name, text in named.items() if name in lacking}
    missing = [name for name in ("inode", "path") if name in lacking - hive.keys()]
    if missing:
        said = f"no rows of gpfs.file: the file lacks {' and '.join(missing)}"
        raise DatasetError(said, where=path, remedy="name files that harvest wrote")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    texts: dict[str, int] = defaultdict(int)
    for group in groups:
        for column in map(group.column, range(group.num_columns)):
            if column.physical_type == "BYTE_ARRAY":
                texts[column.path_in_schema] += column.total_uncompressed_size
    rows = tuple(group.num_rows for group in groups)
    return ParquetFile(path, metadata.num_rows, rows, dict(texts), tuple(hive.items()))


def scan(files: Sequence[ParquetFile | Piece]) -> pl.LazyFrame:
    """Scan whole files as a lazy frame of plain columns.

    Columns that a file lacks are null; columns that the record type lacks are dropped.
    """
    if not files:
        return no_rows(_KIND)
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for file in files:
        alike.setdefault(file.hive, []).append(file.path)
    return pl.concat(
        scan_parquet(paths, _KIND)
        .select(plain_columns(_KIND))
        .with_columns(_constant(name, text, paths[0]) for name, text in hive)
        for hive, paths in alike.items()
    )


def _constant(name: str, text: str, path: str) -> pl.Expr:
    kind = COLUMNS[name]
    given = [None if text == _NO_VALUE else text]
    try:
        return pl.lit(pl.Series(given, dtype=pl.String).cast(kind).item(), kind).alias(name)
    except pl.exceptions.PolarsError as error:
        said = f"{name}={text} in the path does not fit {kind}"
        remedy = "rename the directory, or write the column into the files"
        raise DatasetError(said, where=path, remedy=remedy) from error


_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
"""Directory name for rows without a value."""


def pieces(files: Sequence[ParquetFile], rows: int) -> list[Piece]:
    """Divide files into pieces of about ``rows`` rows, at row group boundaries."""
    found = []
    for file in files:
        start = held = 0
        for group in file.groups:
            if held and held + group > rows:
                found.append(Piece(file.path, start, held, file.hive))
                start, held = start + held, 0
            held += group
        if held:
            found.append(Piece(file.path, start, held, file.hive))
    return found
