"""A connection to PostgreSQL through ADBC: statements and bulk loads in one transaction."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import adbc_driver_manager
import adbc_driver_postgresql.dbapi
import pyarrow as pa

from harvest import HarvestError, UsageError
from harvest.toolkit.texts import printable_line

from ..batches import streamed

_SECRETS: Final = ("password", "sslpassword")
_SESSION: Final = (
    "SET client_encoding = 'UTF8'",
    "SET standard_conforming_strings = on",
    "SET search_path = pg_catalog",  # nothing in another schema can take a function's name
    # a site's limits are for what people ask; an export takes as long as its rows
    "SET statement_timeout = 0",
    "SET lock_timeout = 0",
    "SET idle_in_transaction_session_timeout = 0",
)


def shown_address(target: str) -> str:
    """The URI without query, safe to show.

    Raises UsageError if it is not a URI of PostgreSQL, or has a password.
    """
    try:
        parts = urlsplit(target)
        secret = parts.password is not None
        queried = {key for key, _ in parse_qsl(parts.query, keep_blank_values=True)}
    except ValueError:
        parts, secret, queried = urlsplit(""), False, set()
    if parts.scheme not in ("postgresql", "postgres"):
        raise UsageError(
            "this is not the URI of a PostgreSQL",
            remedy="write postgresql://USER@HOST:PORT/DATABASE",
        )
    if secret or queried.intersection(_SECRETS):
        raise UsageError(
            "the URI holds a password, which others on this machine could read",
            where="postgresql",
            remedy="take it out, and put it into the file that PGPASSFILE names (~/.pgpass), "
            "or into the variable PGPASSWORD",
        )
    return printable_line(target.partition("?")[0])


class Database:
    """A connection with an open transaction."""

    def __init__(self, connection: Any):
        self._connection = connection
        self._cursor = connection.cursor()

    def execute(self, statement: str, *values: Any) -> None:
        """Execute one statement with values for ``$1``, ``$2``, ..."""
        self._cursor.execute(statement, parameters=values or None)

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Fetch all rows of a query."""
        self.execute(statement, *values)
        return list(self._cursor.fetchall())

    def value(self, statement: str, *values: Any) -> Any:
        """Fetch the single value of a query."""
        return self.rows(statement, *values)[0][0]

    def load(self, schema: str, table: str, columns: pa.Schema, tables: Iterator[pa.Table]) -> None:
        """Append rows to a table with the same column names and types.

        Errors raised while rows are made pass through unchanged.
        """
        batches = (batch for each in tables for batch in each.to_batches())
        with streamed(columns, batches) as reader:
            self._cursor.adbc_ingest(table, reader, mode="append", db_schema_name=schema)

    def insert(self, schema: str, table: str, rows: list[dict[str, Any]]) -> None:
        """Append a few rows, each with a value for every column."""
        if rows:
            kinds = self._connection.adbc_get_table_schema(table, db_schema_filter=schema)
            self.load(schema, table, kinds, iter([pa.Table.from_pylist(rows, schema=kinds)]))


@contextlib.contextmanager
def connected(target: str) -> Iterator[Database]:
    """Connect in one transaction: commit it at the end, roll it back after an error.

    Raises UsageError like ``shown_address``, HarvestError for an error of PostgreSQL.
    """
    address = shown_address(target)
    try:
        connection = adbc_driver_postgresql.dbapi.connect(target)
    except adbc_driver_manager.Error as error:
        raise _said(error, address, _CONNECT) from error
    try:
        database = Database(connection)
        for setting in _SESSION:
            database.execute(setting)
        yield database
        connection.commit()
    except adbc_driver_manager.Error as error:
        raise _said(error, address, _REMEDIES.get(error.sqlstate or "", _OTHER)) from error
    finally:
        # what is not committed is rolled back with its connection
        with contextlib.suppress(adbc_driver_manager.Error):
            connection.close()


_CONNECT: Final = (
    "check host, port, database and user; the password comes from the file that PGPASSFILE names, "
    "or from PGPASSWORD"
)
_OTHER: Final = "nothing was changed; export again when it is mended"
_REMEDIES: Final = {
    "42501": "let the database's owner grant it: CREATE on the database, for the first export",
    "53100": "make room on the server's disk and export again; nothing was changed",
}


def _said(error: adbc_driver_manager.Error, address: str, remedy: str) -> HarvestError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[:2]).removesuffix(".")
    return HarvestError(f"PostgreSQL says: {printable_line(text)}", where=address, remedy=remedy)
