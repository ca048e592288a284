"""Start a server from the options of ``harvest serve``."""

from __future__ import annotations

import secrets
import stat
import sys
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harvest import UsageError, interrupt
from harvest.commands import remark

from .app import application
from .engine.scratch import scratch
from .given import Given
from .guard import access, is_loopback
from .server import listen, run
from .state import serve

LEAST_TOKEN: Final = 16
"""Smallest number of characters of a token."""


def serve_datasets(
    datasets: Sequence[tuple[Path, Given]],
    *,
    host: str,
    port: int,
    names: Sequence[str],
    browser: bool,
    token_file: Path | None,
    needs_token: bool,
) -> int:
    """Serve until Ctrl-C; raises HarvestError where the server cannot start.

    A damaged or missing dataset is served, too, and shows its error until it is repaired. Where no
    dataset opens, the first one's error is raised.
    """
    token = _token(token_file) if needs_token else None
    if not needs_token and token_file is not None:
        raise UsageError("--token-file and --no-token are given", remedy="give one of them")
    if token is None and not is_loopback(host):
        raise UsageError(
            f"{host} lets others ask, and no token would be needed",
            where="--no-token",
            remedy="leave --no-token out; or leave --host out, and have the proxy ask 127.0.0.1",
        )
    with interrupt.orderly(), scratch() as directory:
        served = serve(datasets, directory)
        listening = listen(host, port)
        with listening:
            here = listening.getsockname()[1]
            address = f"http://{_called(host)}:{here}/"
            whole = address if token is None else f"{address}?token={token}"
            print(f"serving {', '.join(each.label for each in served.values())} at {whole}")
            print("Ctrl-C ends it", flush=True)
            if browser and sys.stdout.isatty():
                threading.Thread(target=webbrowser.open, args=(whole,), daemon=True).start()
            run(application(served, access(token, host, here, names)), listening)
    remark("ended; nothing was written")
    return 0


def _called(host: str) -> str:
    """Return the name by which a browser on this computer reaches an address."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - it is compared
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _token(file: Path | None) -> str:
    """Read the token of a file, or make a new one; raises UsageError for a file that others may
    read.
    """
    if file is None:
        return secrets.token_urlsafe(24)
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise UsageError(
                "others may read this token", where=str(file), remedy=f"chmod 600 {file}"
            )
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token cannot be read: {error}", where=str(file)) from error
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageError(
            f"a token has at least {LEAST_TOKEN} plain characters",
            where=str(file),
            remedy="python -c 'import secrets; print(secrets.token_urlsafe())' makes one",
        )
    return token
