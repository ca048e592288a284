"""``harvest watch``."""

from typing import Annotated

from harvest.commands import RunOptions, takes_run_options
from harvest.toolkit.completion import option

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
