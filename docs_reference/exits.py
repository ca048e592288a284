"""The page about exit codes and environment variables."""

from harvest.errors import ExitCode
from harvest.fault import VARIABLE as FAULT
from harvest.plugins.claims import DISABLE_VARIABLE, PREFER_VARIABLE
from harvest_look.markdown import table

__all__ = ["ENVIRONMENT", "MEANING", "page"]

MEANING = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed, nothing was committed (the message names the sinks that were "
    "committed before). Also: a check found something, such as a damaged dataset or a path that no "
    "source recognises; or the reader of standard output went away, as `| head` does",
    ExitCode.USAGE: "wrong usage or configuration",
    ExitCode.REJECTS: "committed, with rejects",
    ExitCode.TOO_MANY_REJECTS: "more rejects than `--max-rejects`, nothing was committed",
    ExitCode.EXPORT: "committed, with or without rejects, but an export failed; the next run "
    "repeats it",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C or SIGTERM); earlier commits stay",
}
"""What each exit code means."""

ENVIRONMENT = {
    DISABLE_VARIABLE: "names of plugins not to load, separated by commas",
    PREFER_VARIABLE: "distributions to prefer when several declare the same name: "
    "see [names](../plugins.md#names-that-two-plugins-declare)",
    FAULT: "the step at which a test kills the run: "
    "see [fault points](../reliability.md#fault-points)",
    "PGPASSWORD": "the database's password, read by PostgreSQL's library; messages and records "
    "hide it",
    "HARVEST_NOTIFY": "a TOML file with settings of [notify](../how-to/notify.md), for all runs",
    "HARVEST_NOTIFY_URL": "the address of its webhook, which is a secret",
    "XDG_STATE_HOME": "where `notify` remembers what it sent, `~/.local/state` unless set",
    "SLURM_CONF": "the configuration that Slurm's commands use",
    "SLURM_ARRAY_TASK_ID": "the command of an array that a batch job runs; set by Slurm, like "
    "those below",
    "SLURM_JOB_ID": "the job that a command's record names",
    "SLURM_RESTART_COUNT": "how often the job was requeued, for the same record",
    "SLURM_CPUS_PER_TASK": "how many partitions a job of the engine `slurm` reads at a time",
    "SLURM_CPUS_ON_NODE": "with the next one: the memory limit of `harvest gpfs aggregate`",
    "SLURM_MEM_PER_CPU": "memory of the job for each CPU, in MB",
    "SLURM_MEM_PER_NODE": "memory of the job on a node, in MB",
    "COLUMNS": "the width of tables when the output is not a terminal",
    "NO_COLOR": "if set, output on a terminal has no colours",
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
        "A script that tolerates rejects accepts 0 and 3.",
        "",
        "## Environment variables",
        "",
        *table(("variable", "meaning"), [(f"`{n}`", doc) for n, doc in ENVIRONMENT.items()]),
        "No variable changes what is read or written. The command and the recipe say that, so you "
        "can repeat a run.",
        "",
    ]
    return "\n".join(lines)
