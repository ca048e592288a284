"""The exporter ``duckdb``: one file that DuckDB opens without harvest.

Record types and views become tables with the names and columns of ``harvest query``:
``dask.transfer`` is the table ``transfer`` of the schema ``dask``.  The file is written under a
temporary name and renamed, in a format that the oldest supported DuckDB can read.
"""

import contextlib
import fcntl
import hashlib
import secrets
import shutil
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl
import pyarrow as pa

from harvest import Dataset, HarvestError, UsageError
from harvest.commands import remark
from harvest.toolkit.files import replacing
from harvest.toolkit.steps import step

from .batches import batches, streamed
from .chosen import ViewChoice, column_comments, stored_view, views_named
from .names import literal, quoted

EXPORT: Final = "harvest_export"
"""The table that says of which commit a file is; a file with this table was made by an export."""
_FORMAT: Final = "v1.0.0"


def write(
    dataset: Dataset, target: str, *, views: str | Iterable[str] = "all", memory: str = "512MB"
) -> list[Path] | str:
    """Write the file, replacing an earlier export; gives its path, or says it is up to date.

    views: as in ``chosen.views_named``; memory: limit of DuckDB, for example ``2GB``.
    Raises UsageError for a target that cannot be written, and for an existing file that is not
    an export or cannot be checked; HarvestError for an error of DuckDB or the disk.
    """
    path = Path(target).expanduser()
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(
            "DuckDB cannot write a file here",
            where=str(path),
            remedy="name a file in a directory that exists",
        )
    chosen = views_named(dataset, views) or []
    made_of = _made_of(dataset, chosen)
    if _present(path) == made_of:
        return f"{path} is up to date"
    with contextlib.ExitStack() as until_there, replacing(path) as temporary:
        # DuckDB takes no empty file, and makes one anew: beside that which keeps others away
        made = temporary.with_name(f"{temporary.name}.duckdb")
        until_there.callback(_remove, made)
        _remove(made)
        try:
            with duckdb.connect(":memory:") as connection:
                _File(connection, made, memory).fill(dataset, chosen, made_of)
        except duckdb.Error as error:
            raise HarvestError(
                f"DuckDB says: {str(error).splitlines()[0]}",
                where=str(path),
                remedy="the file is unchanged; make room on the disk, or give DuckDB more memory: "
                "--set memory=2GB",
            ) from error
        held = until_there.enter_context(made.open("rb"))
        with contextlib.suppress(OSError):  # no locks here
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        made.replace(temporary)
    catalog = path.name.partition(".")[0]
    if any(name.startswith(f"{catalog}.") for name in dataset.record_types):
        remark(
            f"DuckDB names this file {catalog!r}, which is also a schema: query its tables as "
            f"{catalog}.{catalog}.NAME, or export to a file of another name"
        )
    return [path]


def _made_of(dataset: Dataset, views: Iterable[ViewChoice]) -> str:
    """Hash all that decides the content of a file: commit, record types, views and plugin versions.

    A view with settings may read other files, so its hash is always new.
    """
    plugins = dataset.plugins
    where = str(Path(dataset.sink.location).resolve())
    words = [where, dataset.manifest.token, version("hpc-harvest-exports")]
    words += [f"{name} {dataset.record_type(name).version}" for name in dataset.record_types]
    words += [f"{each.label} {plugins.version_of(plugins.view(each.name))}" for each in views]
    if any(each.settings for each in views):
        words.append(secrets.token_hex())
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()


def _present(path: Path) -> str | None:
    """Read the hash of an existing export; raises UsageError for another file."""
    if not path.exists() or not path.stat().st_size:
        return None
    try:
        with duckdb.connect(str(path), read_only=True) as there:
            found = there.execute(
                "SELECT column_name FROM duckdb_columns() WHERE table_name = $1", [EXPORT]
            ).fetchall()
            if ("made_of",) in found:
                return str(there.execute(f"SELECT made_of FROM {EXPORT}").fetchall()[0][0])
    except duckdb.Error as error:
        raise UsageError(
            f"cannot see whether this is an earlier export: {str(error).splitlines()[0]}",
            where=str(path),
            remedy="close the program that writes to it (duckdb -readonly does not block exports), "
            "or name another file",
        ) from error
    if not found:
        raise UsageError(
            "this file is not an export of harvest, and would be replaced",
            where=str(path),
            remedy="remove it, or name another file",
        )
    return None


def _remove(database: Path) -> None:
    """Remove what a failed or killed export left behind."""
    database.unlink(missing_ok=True)
    database.with_name(f"{database.name}.wal").unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(_scratch(database))


def _scratch(database: Path) -> Path:
    """Where DuckDB spills what exceeds its memory limit."""
    return database.with_name(f"{database.name}.tmp")


class _File:
    """A database file during an export."""

    def __init__(self, connection: Any, path: Path, memory: str):
        self._connection = connection
        self._execute(f"SET memory_limit = {literal(memory)}")
        self._execute(f"SET temp_directory = {literal(str(_scratch(path)))}")
        self._execute(f"ATTACH {literal(str(path))} AS export (STORAGE_VERSION {literal(_FORMAT)})")

    def _execute(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement, list(values))

    def fill(self, dataset: Dataset, views: Iterable[ViewChoice], made_of: str) -> None:
        """Write all record types and views as tables."""
        held: list[tuple[str, str, int]] = []
        for name in dataset.record_types:
            docs = column_comments(dataset, name)
            held.append((name, "record type", self._table(name, dataset[name], docs)))
        for view in views:
            step(f"exporting {view.label}")
            with stored_view(dataset, view) as found:
                if found is not None:
                    docs = column_comments(dataset, view.name, view.settings)
                    rows = self._table(view.label, found[0], docs)
                    held.append((view.label, "view", rows))
        self._execute(
            f"CREATE TABLE export.{EXPORT} AS SELECT $1 AS location, $2 AS token, "
            "current_timestamp AS exported_at, $3 AS made_of",
            *(str(dataset.sink.location), dataset.manifest.token, made_of),
        )
        self._execute("CREATE TABLE export.harvest_tables (name TEXT, kind TEXT, rows BIGINT)")
        for each in held:
            self._execute("INSERT INTO export.harvest_tables VALUES ($1, $2, $3)", *each)
        self._execute("DETACH export")  # which writes what is left, so that the file is whole

    def _table(self, label: str, rows: pl.LazyFrame, docs: tuple[str, Mapping[str, str]]) -> int:
        """Write a table with comments; gives its number of rows."""
        step(f"exporting {label}")
        # the settings of a view may hold dots
        name, colon, settings = label.partition(":")
        schema, _, table = name.rpartition(".")
        schema = schema or "main"
        where = quoted("export", schema, table + colon + settings)
        self._execute(f"CREATE SCHEMA IF NOT EXISTS {quoted('export', schema)}")
        frame = _sendable(rows)
        names = _apart(frame.collect_schema().names())

        def arrow(rows: pl.DataFrame) -> pa.Table:
            table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
            return table.rename_columns(list(names.values()))

        schema = arrow(pl.DataFrame(schema=frame.collect_schema())).schema
        with streamed(schema, (b for r in batches(frame) for b in arrow(r).to_batches())) as reader:
            self._connection.register("rows of it", reader)
            made = self._execute(f'CREATE TABLE {where} AS FROM "rows of it"').fetchone()
        doc, columns = docs
        self._execute(f"COMMENT ON TABLE {where} IS {literal(f'{label}: {doc}')}")
        for name, shown in names.items():
            if text := columns.get(name):
                self._execute(f"COMMENT ON COLUMN {where}.{quoted(shown)} IS {literal(text)}")
        return int(made[0])


def _sendable(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Convert to types of DuckDB: categories become text, times have microseconds."""
    changed: list[pl.Expr] = []
    for name, kind in frame.collect_schema().items():
        column = pl.col(name)
        if kind == pl.Null or kind == pl.Categorical or isinstance(kind, pl.Enum):
            changed.append(column.cast(pl.String))
        elif kind == pl.Int128:
            changed.append(column.cast(pl.Decimal(38, 0)))
        elif isinstance(kind, pl.Datetime) and kind.time_unit != "us" and kind.time_zone:
            changed.append(column.dt.cast_time_unit("us"))
    return frame.with_columns(changed) if changed else frame


def _apart(names: Iterable[str]) -> dict[str, str]:
    """Names of columns that differ for DuckDB, which ignores case."""
    found: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        shown, number = name, 1
        while shown.casefold() in used:
            shown, number = f"{name}_{number}", number + 1
        found[name] = shown
        used.add(shown.casefold())
    return found
