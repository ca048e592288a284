"""A real PostgreSQL for the tests: a server elsewhere, or one started here.

HARVEST_TEST_POSTGRESQL is the URI of a superuser of a server that tests may write to (the
pipeline's service).  Without it a server is started where its programs are installed.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest

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


def _programs() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (found := shutil.which("initdb")) is not None:
        folders.append(Path(found).parent)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    return None


def _user() -> dict[str, object]:
    """PostgreSQL refuses to run as root: then another user runs it."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


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
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL's server programs (initdb, pg_ctl) are not installed")
    who = _user()
    # a short path: that of a unix socket has at most 107 bytes
    root = Path(tempfile.mkdtemp(prefix="hvpg-", dir="/tmp"))
    data = root / "data"
    secret = root / "password"
    secret.write_text(PASSWORD + "\n")
    if who:
        for path in (root, secret):
            os.chown(path, who["user"], who["group"])  # type: ignore[arg-type]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    run = {"check": True, "capture_output": True, "cwd": "/", "env": clean, **who}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = False
    try:
        subprocess.run(
            [
                programs / "initdb",
                "-D",
                data,
                "-U",
                "admin",
                f"--pwfile={secret}",
                "--auth-local=trust",
                "--auth-host=scram-sha-256",
                "-E",
                "UTF8",
                "--no-sync",
                "--locale=C",
            ],
            **run,
        )
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {root} -c fsync=off"
        subprocess.run(
            [programs / "pg_ctl", "-D", data, "-o", options, "-l", root / "log", "-w", "start"],
            **{**run, "capture_output": False, "stdout": subprocess.DEVNULL},
        )
        started = True
        made = Server("127.0.0.1", port, f"host={root} port={port} user=admin")
        made.prepare()
        yield made
    finally:
        if started:
            subprocess.run([programs / "pg_ctl", "-D", data, "-m", "fast", "-w", "stop"], **run)
        shutil.rmtree(root, ignore_errors=True)
