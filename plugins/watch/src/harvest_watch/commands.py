"""The commands ``harvest watch`` and ``harvest schedule``, as users see them."""

from typing import Annotated

from harvest.commands import RunOptions, takes_run_options
from harvest.toolkit.completion import option, words

Every = Annotated[float, option("--every SECONDS", "Commit at most this often.", min=0.1)]
Settle = Annotated[
    float, option("--settle SECONDS", "Read a file when it has not changed for this long.", min=0)
]
Poll = Annotated[
    bool,
    option(
        "--poll",
        "Look for changes every --every seconds, also where the file system reports them. "
        "Network file systems are always polled.",
    ),
]
LookEvery = Annotated[
    float,
    option(
        "--look-every SECONDS",
        "Where the file system reports changes, also look at all files this often, in case "
        "a report is lost.",
        min=1,
    ),
]
Rounds = Annotated[
    int | None, option("--runs N", "Stop after N rounds that commit something.", min=1)
]
UntilIdle = Annotated[
    float | None,
    option("--until-idle SECONDS", "Stop when nothing has changed for this long.", min=0),
]
JsonOfRounds = Annotated[bool, option("--json", "Print one JSON object per round that commits.")]
Times = Annotated[
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


@takes_run_options(without=("limit", "changed"))
def watch(
    options: RunOptions,
    every: Every = 30.0,
    settle: Settle = 2.0,
    poll: Poll = False,
    look_every: LookEvery = 600.0,
    runs: Rounds = None,
    until_idle: UntilIdle = None,
    json: JsonOfRounds = False,
) -> int:
    """Keep harvesting as files arrive; each round is an ordinary run.

    It commits nothing when nothing has changed. Ctrl-C or SIGTERM between rounds makes a last round
    and ends it. During a round they interrupt that round, which is safe.

    Example: harvest watch -s slurm:dumps -k parquet:out --every 60

    Exit codes: 0 done; 1 the last round failed; 2 wrong usage; 3 rejects were committed;
    4 the last round had more rejects than --max-rejects; 5 its export failed; 130 a round was
    interrupted.
    """
    from harvest_watch import loop  # late: help needs none of it

    watching = loop.WatchOptions(
        every_s=every,
        settle_s=settle,
        poll=poll,
        look_every_s=look_every,
        rounds=runs,
        until_idle_s=until_idle,
        wait_s=options.wait_s,
    )
    return loop.watch(options.recipe(), watching, loop.Lines(json=json))


@takes_run_options(without=("limit", "o"))
def schedule(
    options: RunOptions,
    every: Times = "1d",
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
