"""The page about exit codes and environment variables."""

from __future__ import annotations

from harvest.errors import ExitCode
from harvest.fault import VARIABLE as FAULT
from harvest.plugins.claims import DISABLE_VARIABLE, PREFER_VARIABLE
from harvest_look.markdown import table

__all__ = ["ENVIRONMENT", "MEANING", "page"]

MEANING = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed, nothing of this run was committed (the message says if some of "
    "several sinks were); or what was asked for is not so: a dataset is damaged, a path is "
    "recognised by no source; or who read standard output went away, as `| head` does, which is "
    "not said",
    ExitCode.USAGE: "wrong usage or configuration",
    ExitCode.REJECTS: "committed, with rejects",
    ExitCode.TOO_MANY_REJECTS: "more rejects than `--max-rejects`, nothing was committed",
    ExitCode.EXPORT: "committed, with or without rejects, but an export that follows the run "
    "failed; the next run makes it",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C or SIGTERM); what was committed before stays",
}
"""What each exit code means."""

ENVIRONMENT = {
    DISABLE_VARIABLE: "names of plugins that are left out, separated by commas",
    PREFER_VARIABLE: "distributions whose names count where several plugins declare one: "
    "see [names](../plugins.md#names-that-two-plugins-declare)",
    FAULT: "a step at which a test kills the run: "
    "see [fault points](../reliability.md#fault-points)",
    "PGPASSWORD": "the database's password, read by PostgreSQL's library; it is hidden in every "
    "message and record",
    "HARVEST_NOTIFY": "a TOML file of settings of [notify](../how-to/notify.md), for all runs",
    "HARVEST_NOTIFY_URL": "the address of its webhook, which is a secret",
    "XDG_STATE_HOME": "below it lies what `notify` has said, `~/.local/state` unless set",
    "SLURM_CONF": "which Slurm its commands talk to; read by them",
    "SLURM_ARRAY_TASK_ID": "which command of an array a batch job runs; set by Slurm, like those "
    "below",
    "SLURM_JOB_ID": "the job that a command's record names",
    "SLURM_RESTART_COUNT": "how often the job was requeued, for the same record",
    "SLURM_CPUS_PER_TASK": "how many partitions a job of the engine `slurm` reads at once",
    "SLURM_CPUS_ON_NODE": "with the next: memory that `harvest gpfs aggregate` may take",
    "SLURM_MEM_PER_CPU": "memory of the job for each CPU, in MB",
    "SLURM_MEM_PER_NODE": "memory of the job on a node, in MB",
    "COLUMNS": "width of tables, where the output is not a terminal",
    "NO_COLOR": "where it is set, output on a terminal has no colours",
}
"""Environment variables that the program or its plugins read, and why."""


def page() -> str:
    """Exit codes and environment variables as one page."""
    lines = [
        "# Exit codes and environment",
        "",
        "Generated from `harvest.errors.ExitCode` and the variables that the code reads.",
        "",
        "## Exit codes",
        "",
        *table(("code", "name", "meaning"), [(str(int(c)), c.name, MEANING[c]) for c in ExitCode]),
        "A script that may go on with rejects accepts 0 and 3.",
        "",
        "## Environment variables",
        "",
        *table(("variable", "meaning"), [(f"`{n}`", doc) for n, doc in ENVIRONMENT.items()]),
        "No variable changes what is read or written: that stands in the command and the recipe, "
        "so that a run can be repeated.",
        "",
    ]
    return "\n".join(lines)
