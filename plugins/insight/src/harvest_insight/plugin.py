"""The views and reports that this distribution offers to harvest.

The most important columns of ``run.chain`` and ``run.lineage`` come first.
"""

from typing import Final

from harvest import Column, ReportSpec, UInt64, View, declare
from harvest.columns import count, flag, named, number, path, text, time


def _keys(missing: str) -> dict[str, Column]:
    """Make the key columns of linked records, by name; missing: when a key is null, for its doc."""
    columns = (
        text("cluster", f"Cluster of the batch job; {missing}, or the job was not harvested."),
        number("job_id", f"Id of the batch job, job_id_raw of slurm.job or pbs.job; {missing}."),
        path("run", f"Directory of the Dask run; {missing}."),
        named("process", f"Address of a worker or of another Dask process; {missing}."),
        text("host", f"Host of the process; {missing}."),
        number("pid", f"Process id on that host; {missing}."),
        path("log", f"Darshan's log, as origin of its records; {missing}."),
        number("record_id", f"Darshan's hash of the file's name; {missing}.", UInt64),
        path("path", f"Path of the file; {missing}."),
        number("inode", f"Inode of the file's entry in a scan; {missing}.", UInt64),
        number("generation", f"Generation of that inode; {missing}, or the scan has none."),
        time("scan_time", f"Time of the scan that lists the entry; {missing}."),
        number("scan_number", f"The microscope's number of a scan; {missing}."),
        number("scan_id", f"Distiller's id of a scan; {missing}."),
    )
    return {column.name: column for column in columns}


_OF_LINK: Final = _keys("null of links that do not tie it")

_CHAIN: Final = (
    text("link", "What the link ties together: for example 'job to run', 'process to log', 'log to "
         "file', 'file to entry' or 'scan to Distiller'."),
    text("sure", "certain: both records hold the same id, or one is within the other; likely: "
         "they fit by place and time, and nothing else does; possible: others fit, too."),
    *(_OF_LINK[name] for name in ("job_id", "run", "process", "log", "path")),
    text("how", "What the link was made from."),
    count("candidates", "How many records fit this end of the link, this one included."),
    flag("found", "Whether the dataset holds the record whose id is named, as a job's."),
    *(_OF_LINK[name] for name in ("cluster", "host", "pid", "inode", "generation", "scan_time")),
    *(_OF_LINK[name] for name in ("scan_number", "scan_id", "record_id")),
)  # fmt: skip

CHAIN: Final = View(
    name="run.chain",
    doc="Links across sources, from batch job to Dask run, process, Darshan log, file and "
    "GPFS entry, and from scan to Distiller, Slurm job and file: how each was made, and "
    "how sure it is.",
    build="harvest_insight.chain.lineage:chain",
    columns=_CHAIN,
)

_OF_FILE: Final = _keys("null where no link leads there, or several do")
_OF_ENTRY: Final = "in the latest scan that lists it; null where none does"

_LINEAGE: Final = (
    path("path", "Name of the file in the log, mostly a path."),
    *(_OF_FILE[name] for name in ("job_id", "run", "process", "host", "pid")),
    path("log", "Darshan's log that names the file."),
    text("sure", "That of the least sure link followed beyond the log's names: certain, likely or "
         "possible; null where none was followed."),
    _OF_FILE["cluster"],
    number("inode", f"Inode of the file's entry {_OF_ENTRY}.", UInt64),
    number("generation", f"Generation of that inode {_OF_ENTRY}, or does not have it."),
    number("record_id", "Darshan's hash of the file's name.", UInt64),
)  # fmt: skip

LINEAGE: Final = View(
    name="run.lineage",
    doc="One row per file of a Darshan log: the process, run and job that used it, and "
    "the file's entry in the latest scan.",
    build="harvest_insight.chain.lineage:lineage",
    requires=("darshan.file",),
    columns=_LINEAGE,
)

harvest_views = declare(CHAIN, LINEAGE)

harvest_reports = declare(
    ReportSpec(
        name="run.map",
        doc="The metadata map: what was harvested of a run's life, from where, by layer, level "
        "and step; what is missing, and which source would bring it.",
        build="harvest_insight.run_map:run_map",
    )
)
