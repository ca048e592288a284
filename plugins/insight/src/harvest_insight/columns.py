"""What the columns of links and lineages mean, the most important first."""

from __future__ import annotations

from functools import partial
from typing import Final

from harvest import Column

__all__ = ["CHAIN", "LINEAGE"]

_number = partial(Column, format="d")
"""A number that names something, as a process id: its digits are not grouped."""


def _keys(missing: str) -> dict[str, Column]:
    """The keys of the records that links tie together, by name; ``missing``: when they are null."""
    columns = (
        Column(
            "cluster", doc=f"Cluster of the Slurm job; {missing}, or the job was not harvested."
        ),
        _number(
            "job_id", doc=f"Id of the batch job, as slurm.job has it in job_id_raw; {missing}."
        ),
        Column("run", format="path", doc=f"Directory of the Dask run; {missing}."),
        Column(
            "process",
            format="id",
            doc=f"Address of a worker or of another Dask process; {missing}.",
        ),
        Column("host", doc=f"Host of the process; {missing}."),
        _number("pid", doc=f"Process id on that host; {missing}."),
        Column("log", format="path", doc=f"Darshan's log, as origin of its records; {missing}."),
        _number("record_id", doc=f"Darshan's hash of the file's name; {missing}."),
        Column("path", format="path", doc=f"Path of the file; {missing}."),
        _number("inode", doc=f"Inode of the file's entry in a scan; {missing}."),
        _number("generation", doc=f"Generation of that inode; {missing}, or the scan has none."),
        Column("scan_time", doc=f"Time of the scan that lists the entry; {missing}."),
        _number("scan_number", doc=f"The microscope's number of a scan; {missing}."),
        _number("scan_id", doc=f"Distiller's id of a scan; {missing}."),
    )
    return {column.name: column for column in columns}


_OF_LINK: Final = _keys("null of links that do not tie it")

CHAIN: Final = (
    Column(
        "link",
        doc="Kind of the link: job to run, run to process, process to log, run to log, job to log, "
        "log to file, file to entry, scan to Distiller, Distiller to job, or job to file.",
    ),
    Column(
        "sure",
        doc="certain: both records hold the same id, or one lies within the other; likely: they "
        "fit by place and time, and nothing else does; possible: others fit, too.",
    ),
    *(_OF_LINK[name] for name in ("job_id", "run", "process", "log", "path")),
    Column("how", doc="What the link was made from."),
    Column("candidates", doc="How many records fit this end of the link, this one included."),
    Column("found", doc="Whether the dataset holds the record whose id is named, as a job's."),
    *(_OF_LINK[name] for name in ("cluster", "host", "pid", "inode", "generation", "scan_time")),
    *(_OF_LINK[name] for name in ("scan_number", "scan_id", "record_id")),
)

_OF_FILE: Final = _keys("null where no link leads there, or several do")
_OF_ENTRY: Final = "in the latest scan that lists it; null where none does"

LINEAGE: Final = (
    Column("path", format="path", doc="Name of the file in the log, mostly a path."),
    *(_OF_FILE[name] for name in ("job_id", "run", "process", "host", "pid")),
    Column("log", format="path", doc="Darshan's log that names the file."),
    Column(
        "sure",
        doc="That of the least sure link followed beyond the log's names: certain, likely or "
        "possible; null where none was followed.",
    ),
    _OF_FILE["cluster"],
    _number("inode", doc=f"Inode of the file's entry {_OF_ENTRY}."),
    _number("generation", doc=f"Generation of that inode {_OF_ENTRY}, or does not have it."),
    _number("record_id", doc="Darshan's hash of the file's name."),
)
