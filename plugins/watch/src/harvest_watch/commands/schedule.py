"""``harvest schedule``."""

from typing import Annotated

from harvest.commands import RunOptions, takes_run_options
from harvest.toolkit.completion import option, words

Every = Annotated[
    str,
    option("--every TIMES", '15m, 6h, 1d, 1w or a cron expression, for example "15 3 * * 1-5".'),
]
Form = Annotated[
    str,
    option(
        "--form FORM",
        "cron, systemd (service and timer) or slurm (scrontab).",
        words("cron", "systemd", "slurm"),
    ),
]
Name = Annotated[str, option("--name NAME", "Name of the units or the job.")]
Report = Annotated[
    str | None,
    option(
        "--report NAME[:KEY=VALUE]",
        "Write this report after each run that commits: slurm.usage:month=last.",
    ),
]
Output = Annotated[
    str | None, option("-o --output FILE|DIR", "Write the report here: page.html, a folder.")
]


@takes_run_options(without=("limit", "o"))
def schedule(
    options: RunOptions,
    every: Every = "1d",
    form: Form = "cron",
    name: Name = "harvest",
    report: Report = None,
    output: Output = None,
) -> int:
    """Print an entry for cron, systemd or Slurm that runs this harvest at set times.

    Installs nothing. The paths are those of this installation and of this directory.

    Example: harvest schedule nightly.toml --every 1d --report slurm.usage -o usage.html
    """
    from harvest_watch.entry import print_entry  # late: help needs none of it

    return print_entry(options, every=every, form=form, name=name, report=report, output=output)
