"""A real PostgreSQL for the tests, where its programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

PASSWORD = "s3cret/pa:ss@word"  # with characters that a URI reserves


@attrs.frozen
class Server:
    """A running server: its port on the loopback, and its superuser's connection."""

    port: int
    sockets: str
    password: str = PASSWORD

    def uri(self, user: str = "reader", password: str | None = PASSWORD, name: str = "distiller"):
        """The URI of a database, the password percent-encoded."""
        from urllib.parse import quote

        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{name}"

    def execute(self, *statements: str, name: str = "distiller") -> None:
        """Run statements as the superuser."""
        import psycopg

        with psycopg.connect(
            host=self.sockets, port=self.port, user="admin", dbname=name, autocommit=True
        ) as connection:
            for statement in statements:
                connection.execute(statement)


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
    """A server with Distiller's tables; stopped and removed afterwards."""
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
        made = Server(port, str(root))
        made.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'", name="postgres")
        made.execute("CREATE DATABASE distiller", name="postgres")
        yield made
    finally:
        if started:
            subprocess.run([programs / "pg_ctl", "-D", data, "-m", "fast", "-w", "stop"], **run)
        shutil.rmtree(root, ignore_errors=True)
