"""What workers' environment must hold for Darshan to trace their input and output."""

from __future__ import annotations

import os

__all__ = ["darshan_environment"]


def darshan_environment(
    directory: str | os.PathLike[str],
    library: str | os.PathLike[str],
    *,
    log_variable: str = "DARSHAN_LOG_DIR_PATH",
) -> dict[str, str]:
    """Environment variables with which a process without MPI writes its Darshan log.

    They must be there before a worker's process starts: as ``env`` of ``LocalCluster``, as lines of
    ``job_script_prologue`` of dask-jobqueue, or as Dask's ``distributed.nanny.pre-spawn-environ``.

    directory: where the logs go.  library: ``libdarshan.so``.  log_variable: what names the
    directory; it is chosen when Darshan is built (``--with-log-path-by-env``).
    """
    return {
        "LD_PRELOAD": os.fspath(library),
        "DARSHAN_ENABLE_NONMPI": "1",
        "DXT_ENABLE_IO_TRACE": "1",
        log_variable: os.path.abspath(directory),  # noqa: PTH100  links stay as they are
    }
