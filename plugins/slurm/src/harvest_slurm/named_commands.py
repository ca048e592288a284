"""The names of this plugin's commands, so that ``harvest --help`` imports nothing else."""

from harvest import Command, declare

harvest_commands = declare(
    Command(
        name="slurm",
        doc="Slurm's accounting: one job in full, or one line per job.",
        app="harvest_slurm.commands:app",
    )
)
