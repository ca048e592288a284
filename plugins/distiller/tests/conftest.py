"""A real PostgreSQL for the tests: a server elsewhere, or one started here.

HARVEST_TEST_POSTGRESQL is the URI of a superuser of a server that tests may write to (the
pipeline's service).  Without it a server is started where its programs are installed.
"""

import os
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import attrs
import pytest
from postgresql import running

PASSWORD = "s3cret/pa:ss@word"  # with characters that a URI reserves


@attrs.frozen
class Server:
    """A running server: its address, and how its superuser connects."""

    host: str
    port: int
    admin: str
    """A connection string, which leaves the database open."""
    password: str = PASSWORD

    def uri(self, user: str = "reader", password: str | None = PASSWORD, name: str = "distiller"):
        """The URI of a database, the password percent-encoded."""
        from urllib.parse import quote

        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{user}{secret}@{self.host}:{self.port}/{name}"

    def execute(self, *statements: str, name: str = "distiller") -> None:
        """Run statements as the superuser."""
        import psycopg

        with psycopg.connect(self.admin, dbname=name, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def clear(self) -> None:
        """Remove what the tests made."""
        self.execute(
            "DROP DATABASE IF EXISTS distiller WITH (FORCE)",
            "DROP ROLE IF EXISTS reader, owner",
            name="postgres",
        )

    def prepare(self) -> None:
        """Make Distiller's database, a user who may only read and one who may do anything."""
        self.clear()
        self.execute(
            f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
            f"CREATE ROLE owner SUPERUSER LOGIN PASSWORD '{PASSWORD}'",
            "CREATE DATABASE distiller",
            name="postgres",
        )


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with an empty database of Distiller; as it was afterwards."""
    if named := os.environ.get("HARVEST_TEST_POSTGRESQL"):
        address = urlsplit(named)
        made = Server(address.hostname or "localhost", address.port or 5432, named)
        made.prepare()
        yield made
        made.clear()
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running(f"-c listen_addresses=127.0.0.1 -p {port}", password=PASSWORD) as root:
        made = Server("127.0.0.1", port, f"host={root} port={port} user=admin")
        made.prepare()
        yield made
