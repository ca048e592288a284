"""Asks a live server: JSON of ``qstat``, for the jobs that the server still knows.

``-x`` includes finished jobs as long as the server keeps their history (``job_history_duration``,
two weeks by default; none unless ``job_history_enable`` is set).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from harvest import Partition, ReadContext
from harvest_toolkit.programs import run_program

from .config import PbsConfig
from .qstat import read_qstat

ORIGIN: Final = "pbs:live"
"""The origin of rows from a live server."""


def read_live(partition: Partition, config: PbsConfig, ctx: ReadContext) -> Iterator[Any]:
    """Return batches of the jobs that the server knows; qstat prints times in UTC."""
    output = run_program(
        [config.qstat, "-x", "-f", "-F", "json"],
        ctx,
        where=ORIGIN,
        env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"},
        missing="run this where PBS is installed, set pbs.qstat to its path, or harvest accounting "
        "logs",
        failed="check that the server answers: qstat -B",
        timeout_s=config.timeout_s,
        slow="set pbs.timeout_s to more seconds, or check the server: qstat -B",
    )
    with output.open("rb") as stream:
        yield from read_qstat(stream, "UTC", partition, ctx)
