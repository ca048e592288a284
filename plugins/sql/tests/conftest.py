"""A real PostgreSQL for the tests: a server of their own, reached by a socket in its directory.

PostgreSQL does not run as root: another user runs it then.  Without its programs the tests that
need it are skipped.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # helpers beside the tests, by their names

_numbers = itertools.count()


def _programs() -> Path:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (found := shutil.which("initdb")) is not None:
        folders.append(Path(found).resolve().parent)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    pytest.skip("PostgreSQL's server programs (initdb, pg_ctl) are not installed")


def _user() -> dict[str, object]:
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


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
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs, who = _programs(), _user()
    # a short path: that of a unix socket has at most 107 bytes
    root = Path(tempfile.mkdtemp(prefix="hvpg-", dir="/tmp"))
    if who:
        os.chown(root, who["user"], who["group"])  # type: ignore[arg-type]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": "/", "env": clean, **who}
    made = ["-U", "admin", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]
    options = f"-c listen_addresses= -k {root} -c fsync=off -c shared_buffers=32MB"
    control = [programs / "pg_ctl", "-D", root / "data", "-w"]
    try:
        subprocess.run([programs / "initdb", "-D", root / "data", *made], **run)
        subprocess.run([*control, "-o", options, "-l", root / "log", "start"], **run)
        try:
            yield Server(root)
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def database(server: Server) -> str:
    """The name of an empty database."""
    name = f"t{next(_numbers)}"
    with server.connect("postgres") as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return name
