"""``harvest schedule``."""

from typing import Annotated

import typer

from harvest.commands import RunOptions, takes_run_options
from harvest.toolkit.completion import words

Every = Annotated[
    str,
    typer.Option(
        metavar="TIMES", help='15m, 6h, 1d, 1w or a cron expression, for example "15 3 * * 1-5".'
    ),
]
Form = Annotated[
    str,
    typer.Option(
        metavar="FORM",
        help="cron, systemd (service and timer) or slurm (scrontab).",
        autocompletion=words("cron", "systemd", "slurm"),
    ),
]
Name = Annotated[str, typer.Option(metavar="NAME", help="Name of the units or the job.")]
Report = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:KEY=VALUE]",
        help="Write this report after each run that commits: slurm.usage:month=last.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE|DIR", help="Write the report here: page.html, a folder."
    ),
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
