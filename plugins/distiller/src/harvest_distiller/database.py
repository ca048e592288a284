"""Read Distiller's PostgreSQL database.

One read-only transaction reads a consistent snapshot. A server-side cursor keeps only one batch in
memory. Each column is fetched as text and parsed in the same way as the exports, so a value of an
unexpected type becomes a reject and not an error.
"""

import os
from collections.abc import Iterator
from typing import Any, Final

import polars as pl
import pyarrow as pa

from harvest import ReadContext, SourceError
from harvest_toolkit.frames import extra_of

from .records import DistillerJob
from .rows import accepted
from .uri import redact, scrub, secrets

BATCH: Final = 16_384
"""Rows fetched at a time."""

QUERY: Final = """
SELECT jobs.scan_id::text, jobs.slurm_id::text, jobs.elapsed::text,
       coalesce(scans.metadata ->> 'Dimensions.1', scans.metadata ->> 'Dimensions 1'),
       coalesce(scans.metadata ->> 'Dimensions.2', scans.metadata ->> 'Dimensions 2')
FROM jobs LEFT JOIN scans ON scans.id = jobs.scan_id
ORDER BY jobs.scan_id, jobs.slurm_id NULLS LAST, jobs.elapsed NULLS LAST
"""

# fixed output formats, independent of the settings of the server and the user's role
_OPTIONS: Final = "-c intervalstyle=postgres -c datestyle=ISO -c default_transaction_read_only=on"
_DIMENSION: Final = r"^\s*(\d{1,6})(?:\.0*)?\s*$"
_FIELDS: Final = ("scan_id", "slurm_id", "elapsed", "first", "second")


def read_database(
    location: str, timeout_s: int, ctx: ReadContext
) -> Iterator[tuple[type[DistillerJob], pa.Table]]:
    """Yield all jobs of the database, in batches; a unit of input is a row of the table ``jobs``.

    timeout_s: seconds to wait for a connection, unless the URI has a connect_timeout.
    Raises SourceError, without secrets, if the database cannot be reached or lacks a column.
    """
    count = 0
    for batch in _batches(location, timeout_s):
        ctx.read(len(batch))
        rows = _with_sizes(batch, count)
        count += len(batch)
        good = accepted(rows, ctx)
        if odd := int(rows["odd"].sum()):
            ctx.note(
                f"{odd} jobs belong to a scan whose dimensions are not numbers; "
                "they are kept in extra, without scan_size"
            )
        if not good.is_empty():
            names = ["scan_id", "slurm_id", "elapsed_s", "scan_size", "extra", "position"]
            yield DistillerJob, good.select(names)


def _with_sizes(batch: list[tuple[Any, ...]], before: int) -> pl.DataFrame:
    """Make a frame of a batch, with scan_size, and ``odd`` for dimensions that are not numbers."""
    frame = pl.DataFrame(batch, schema=dict.fromkeys(_FIELDS, pl.String), orient="row")
    sides = [pl.col(name).str.extract(_DIMENSION).cast(pl.Int64) for name in ("first", "second")]
    some = pl.col("first").is_not_null() | pl.col("second").is_not_null()
    whole = sides[0].is_not_null() & sides[1].is_not_null()
    frame = frame.with_columns(
        pl.concat_str([pl.col(n).fill_null("") for n in _FIELDS], separator=",").alias("raw"),
        pl.when(whole).then(pl.format("{}x{}", *sides)).alias("scan_size"),
        pl.col("first").alias("Dimensions.1"),
        pl.col("second").alias("Dimensions.2"),
        pl.int_range(before + 1, before + 1 + pl.len(), dtype=pl.Int64).alias("position"),
        (some & ~whole).alias("odd"),
    )
    dimensions = extra_of(["Dimensions.1", "Dimensions.2"])
    return frame.with_columns(pl.when("odd").then(dimensions).alias("extra"))


def _batches(location: str, timeout_s: int) -> Iterator[list[tuple[Any, ...]]]:
    try:
        import psycopg  # an optional library
    except ImportError as error:
        raise SourceError(
            "reading a database needs the package psycopg, which is not installed",
            where=redact(location),
            remedy="install hpc-harvest-distiller[postgresql]",
        ) from error
    where = redact(location)
    hidden = [*secrets(location), *filter(None, [os.environ.get("PGPASSWORD")])]
    try:
        connection = _connect(psycopg, location, timeout_s)
    except psycopg.OperationalError as error:
        raise SourceError(
            f"no connection to the database: {scrub(str(error), hidden)}",
            where=where,
            remedy="check that it runs, and the user, password (PGPASSWORD or ~/.pgpass) and name",
        ) from None
    except (psycopg.Error, ValueError, UnicodeError):
        # libpq quotes the invalid part of the URI, which may be the password
        raise SourceError(
            "the location is not a valid PostgreSQL URI",
            where=where,
            remedy="write postgresql://USER@HOST:PORT/DATABASE, with reserved characters "
            "percent-encoded",
        ) from None
    try:
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with connection, connection.cursor(name="harvest") as cursor:
            cursor.itersize = BATCH
            cursor.execute(QUERY)
            while batch := cursor.fetchmany(BATCH):
                yield batch
    except psycopg.Error as error:
        raise _failure(psycopg, error, where, hidden) from None
    finally:
        connection.close()


def _connect(psycopg: Any, location: str, timeout_s: int) -> Any:
    given = psycopg.conninfo.conninfo_to_dict(location.strip())
    options = " ".join(filter(None, [given.get("options"), _OPTIONS]))
    timeout = given.get("connect_timeout", timeout_s)
    return psycopg.connect(
        location.strip(),
        options=options,
        connect_timeout=timeout,
        application_name="harvest",
        client_encoding="utf-8",
    )


def _failure(psycopg: Any, error: Any, where: str, hidden: list[str]) -> SourceError:
    said = scrub(error.diag.message_primary or str(error), hidden)
    missing = (psycopg.errors.UndefinedColumn, psycopg.errors.UndefinedTable)
    if isinstance(error, (*missing, psycopg.errors.UndefinedFunction)):
        return SourceError(
            f"the database has not Distiller's tables: {said}",
            where=where,
            remedy="needed are scans(id, metadata jsonb) and jobs(scan_id, slurm_id, elapsed)",
        )
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return SourceError(
            f"the user may not read Distiller's tables: {said}",
            where=where,
            remedy="grant SELECT on scans and jobs",
        )
    return SourceError(
        f"the database broke off: {said}", where=where, remedy="check the database and run again"
    )
