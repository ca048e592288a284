"""The record type of Distiller."""

import harvest
from harvest import Record, field


@harvest.record("distiller.job", layer="workflow", level="job")
class DistillerJob(Record):
    """A job that Distiller started for a scan.

    A scan may have several jobs, and a job may lack its Slurm id (never submitted) or its
    elapsed time (never finished).
    """

    scan_id: int = field(role="subject", doc="Distiller's id of the scan.")
    slurm_id: int | None = field(role="job", doc="Id of the Slurm job.")
    elapsed_s: float | None = field(unit="s", doc="How long the job ran, as Distiller keeps it.")
    scan_size: str | None = field(doc="Positions of the scan, as 128x128; null where unknown.")
