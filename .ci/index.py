"""A package index on loopback: a pypiserver for as long as a proof or a trial needs it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER, PASSWORD = "gitlab-ci-token", "only-on-loopback"
NOWHERE = ""
"""In place of another index: what is not there is unknown."""


@contextmanager
def index(
    packages: Path, *, passwords: Path | None = None, forward: str | None = NOWHERE
) -> Iterator[str]:
    """An index of a folder's packages, stopped afterwards; gives its address.

    passwords: a file to write; given, uploads are taken and all needs USER and PASSWORD.
    forward: the index that other names are asked for, as GitLab does; None for the public one.
    """
    rights = ["-P", ".", "-a", "."]
    if passwords is not None:
        from passlib.apache import HtpasswdFile

        users = HtpasswdFile(str(passwords), new=True, default_scheme="apr_md5_crypt")
        users.set_password(USER, PASSWORD)
        users.save()
        rights = ["-P", passwords, "-a", "update,list,download"]
    others = ["--disable-fallback"] if forward == NOWHERE else []
    others += ["--fallback-url", forward] if forward else []
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port),
         *rights, *others, "--hash-algo", "sha256", packages],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if server.poll() is not None:
                sys.exit(f"index: pypiserver ended with {server.returncode}")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def public() -> str | None:
    """The index that this machine has in place of the public one; None where it has none."""
    if address := os.environ.get("PIP_INDEX_URL"):
        return address
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return asked.stdout.strip() or None
