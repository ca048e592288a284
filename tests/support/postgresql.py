"""A PostgreSQL of the tests' own, for as long as they run.

PostgreSQL does not run as root: another user runs it then.  Without its programs the tests that
need it are skipped.
"""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


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


@contextlib.contextmanager
def running(options: str, *, password: str | None = None) -> Iterator[Path]:
    """A running server with the superuser ``admin``; gives the folder of its socket.

    options: of the server.  password: of ``admin`` through TCP; nobody is asked for one through the
    socket.
    """
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs, who = _programs(), _user()
    # a short path: that of a unix socket has at most 107 bytes
    root = Path(tempfile.mkdtemp(prefix="hvpg-", dir="/tmp"))
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": "/", "env": clean, **who}
    made = ["-U", "admin", "--auth-local=trust", "-E", "UTF8", "--no-sync", "--locale=C"]
    if password is not None:
        (root / "password").write_text(password + "\n")
        made += [f"--pwfile={root / 'password'}", "--auth-host=scram-sha-256"]
    if who:
        for path in (root, *root.iterdir()):
            os.chown(path, who["user"], who["group"])  # type: ignore[arg-type]
    control = [programs / "pg_ctl", "-D", root / "data", "-w"]
    start = ["-o", f"-k {root} -c fsync=off {options}", "-l", root / "log", "start"]
    try:
        subprocess.run([programs / "initdb", "-D", root / "data", *made], **run)
        subprocess.run([*control, *start], **run)
        try:
            yield root
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)
    finally:
        shutil.rmtree(root, ignore_errors=True)
