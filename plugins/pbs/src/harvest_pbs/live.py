"""Asks a live server: JSON of ``qstat``, for the jobs that the server still knows.

``-x`` includes finished jobs as long as the server keeps their history (``job_history_duration``,
two weeks by default; none unless ``job_history_enable`` is set).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any, Final

from harvest import Partition, ReadContext, SourceError

from .config import PbsConfig
from .qstat import read_qstat

ORIGIN: Final = "pbs:live"
"""The origin of rows from a live server."""


def read_live(partition: Partition, config: PbsConfig, ctx: ReadContext) -> Iterator[Any]:
    """Return batches of the jobs that the server knows; qstat prints times in UTC."""
    output, errors = ctx.scratch / "qstat.json", ctx.scratch / "qstat.err"
    command = [config.qstat, "-x", "-f", "-F", "json"]
    with output.open("wb") as out, errors.open("wb") as err:
        try:
            status = subprocess.run(
                command,
                env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=config.timeout_s,
                check=False,
            ).returncode
        except (FileNotFoundError, PermissionError) as error:
            found = "was not found" if isinstance(error, FileNotFoundError) else "may not be run"
            raise SourceError(
                f"program {config.qstat!r} {found}",
                where=ORIGIN,
                remedy="run this where PBS is installed, set pbs.qstat to its path, or harvest "
                "accounting logs",
            ) from None
        except subprocess.TimeoutExpired:
            raise SourceError(
                f"qstat did not end within {config.timeout_s} s",
                where=ORIGIN,
                remedy="set pbs.timeout_s to more seconds, or check the server: qstat -B",
            ) from None
    said = errors.read_text("utf-8", "replace").strip().splitlines()
    if status != 0:
        raise SourceError(
            f"qstat ended with status {status}: {said[-1] if said else 'no message'}",
            where=ORIGIN,
            remedy="check that the server answers: qstat -B",
        )
    for line in said[:20]:
        ctx.note(f"qstat says: {line}")
    with output.open("rb") as stream:
        yield from read_qstat(stream, "UTC", partition, ctx)
