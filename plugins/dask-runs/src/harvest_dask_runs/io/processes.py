"""What the processes of each Dask run read and wrote, by Darshan's counters."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest import DatasetReader, UsageError

from ..record_names import JOB
from ..runs import runs_of
from .ties import runs_of_logs

PROCESSES: Final = "io.processes"


def processes(data: DatasetReader) -> pl.DataFrame | None:
    """Rows of ``io.processes``, ``run`` being the Dask run; None where there are none.

    A log belongs to the run in whose directory it lies; where there is one run only, to that.
    """
    if JOB not in data:
        return None
    try:
        found = data.view(PROCESSES).collect()
    except UsageError:  # the plugin that reads Darshan's logs is not installed or is disabled
        return None
    runs = runs_of(data)
    if len(runs) == 1:
        found = found.with_columns(run=pl.lit(runs[0]))
    else:
        logs = runs_of_logs(found.select(origin="log"), runs)
        found = found.drop("run").join(logs, left_on="log", right_on="origin", how="left")
    return found if found.height else None
