"""How PBS jobs fill the frame of job runs of ``harvest_accounting``."""

from typing import Final

from harvest_accounting.job_runs import JobRuns, Words

JOB_RUNS: Final = JobRuns(
    scheduler="pbs",
    record_type="pbs.job",
    columns={"cpu_s": "total_cpu_s"},
    fills=("job_id_raw", "state_by"),
    order="start_time",
    source="pbs",
    runs="harvest_pbs.job_runs:runs",
    words=Words(
        scheduler="PBS",
        record="The log",
        columns={
            "qos": "Null: PBS has none.",
            "submit_time": "When the job was submitted (ctime). A later run was, when the run "
            "before it ended; null where that run is not in the logs.",
            "jobs.eligible_time": "When it could have started (etime), of a later run not before "
            "submit_time.",
            "gpu_util_percent": "Null: no version of PBS measures it.",
        },
    ),
)
"""The declaration of PBS jobs for the views, reports and rules of ``harvest_accounting``."""
