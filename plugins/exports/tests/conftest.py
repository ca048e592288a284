"""A real PostgreSQL for the tests: a server of their own, reached by a socket in its directory."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from postgresql import running

sys.path.insert(0, str(Path(__file__).parent))  # helpers beside the tests, by their names

_numbers = itertools.count()


class Server:
    """A running server, and databases in it."""

    def __init__(self, root: Path):
        self.root = root

    def uri(self, database: str, user: str = "admin") -> str:
        """The URI of a database, through the socket; nobody is asked for a password there."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.root), safe='')}"

    def connect(self, database: str, user: str = "admin"):
        """A connection of psycopg's, by which the tests look at what was exported."""
        import psycopg

        return psycopg.connect(self.uri(database, user), autocommit=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server of PostgreSQL, which ends with the tests."""
    with running("-c listen_addresses= -c shared_buffers=32MB") as root:
        yield Server(root)


@pytest.fixture
def database(server: Server) -> str:
    """The name of an empty database."""
    name = f"t{next(_numbers)}"
    with server.connect("postgres") as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return name
