"""``python -m harvest_cluster.batch status|wait|cancel DIRECTORY``: follow or cancel jobs."""

import json as jsonlib
import sys
from pathlib import Path
from typing import Annotated

from harvest.errors import ExitCode, HarvestError
from harvest.toolkit.completion import argument, group, option
from harvest.toolkit.texts import printable_line

from .batch import Batch
from .status import JobStatus

app = group("Follow batch jobs that harvest submitted.")

FAILURES_SHOWN = 10

DirectoryArgument = Annotated[Path, argument("DIR", "As named when the jobs were submitted.")]
JsonOption = Annotated[bool, option("--json", "Print JSON.")]


@app.command("status")
def status(directory: DirectoryArgument, json: JsonOption = False) -> int:
    """Show how far each job is, and why commands failed. Ends with 1 when one did."""
    return _report(Batch.open(directory).status(), json=json)


@app.command("wait")
def wait(directory: DirectoryArgument, json: JsonOption = False) -> int:
    """Wait until all jobs have ended, then show how. Ends with 1 when a command failed."""
    return _report(Batch.open(directory).wait(), json=json)


@app.command("cancel")
def cancel(directory: DirectoryArgument) -> int:
    """Cancel the jobs that have not ended."""
    Batch.open(directory).cancel()
    return ExitCode.DONE


def _report(jobs: list[JobStatus], *, json: bool) -> int:
    if json:
        print(jsonlib.dumps([job.to_dict() for job in jobs], indent=2))
    else:
        for job in jobs:
            _print(job)
    return ExitCode.FAILED if any(job.failed for job in jobs) else ExitCode.DONE


def _print(job: JobStatus) -> None:
    counts = ", ".join(f"{count} {state}" for state, count in job.counts.items() if count)
    ids = ", ".join(map(str, job.job_ids))
    print(f"{printable_line(job.name)} (Slurm job {ids}): {counts}")
    for command in job.failed[:FAILURES_SHOWN]:
        where = f" on {command.host}" if command.host else ""
        print(f"  command {command.number} failed{where}: {printable_line(command.reason)}")
    if len(job.failed) > FAILURES_SHOWN:
        print(f"  and {len(job.failed) - FAILURES_SHOWN} more")
    if job.failed:
        print(f"  what they printed: {printable_line(str(job.log))}")
    reasons = {c.reason for c in job.commands if c.state == "pending" and c.reason}
    if reasons:
        print(f"  waiting for: {printable_line(', '.join(sorted(reasons)))}")


def main() -> int:
    """Run a command; print an error as one line, and return the exit code."""
    try:
        return int(app(standalone_mode=False) or 0)
    except HarvestError as error:
        print(f"harvest: {printable_line(str(error))}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
