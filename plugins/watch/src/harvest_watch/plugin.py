"""Entry point of the plugin for harvest: two commands in addition to ``harvest run``."""

from harvest import Command, declare

harvest_commands = declare(
    Command(
        name="watch",
        doc="Keep harvesting as files arrive; each round is an ordinary run.",
        app="harvest_watch.commands:watch",
        after="run",
    ),
    Command(
        name="schedule",
        doc="Print an entry for cron, systemd or Slurm that runs this harvest at set times.",
        app="harvest_watch.commands:schedule",
        after="run",
    ),
)
