"""A harvest at set times, as crontab, scrontab and systemd want it written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import attrs

from harvest import UsageError

from .quoting import for_cron, for_systemd, for_systemd_path, plain_text
from .times import Times

CRON_COMMAND_BYTES = 990
"""Some crons take commands of up to 999 bytes."""


def _checked_name(instance: Entry, attribute: object, value: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", value):
        raise UsageError(
            f"{value!r} is not a name for a unit or a job",
            remedy="use letters, digits, '-', '_' and '.'",
        )


@attrs.frozen(kw_only=True)
class Entry:
    """What is run and when.

    name: of the units or the job; program: the words that start harvest, its path first;
    arguments: those after them; directory: where it runs, absolute.
    """

    name: str = attrs.field(validator=_checked_name)
    times: Times
    program: Sequence[str]
    arguments: Sequence[str]
    directory: str

    def cron(self) -> str:
        """A line for ``crontab -e``."""
        return "\n".join(
            (
                f"# {self.name}, {self.times.words}; add it with: crontab -e",
                "# What it prints is mailed to MAILTO; to a file instead: end the line with",
                "#   >>harvest.log 2>&1",
                "# A run that meets the one before still at work writes nothing (see --wait).",
                self._line(),
                "",
            )
        )

    def slurm(self) -> str:
        """An entry for ``scrontab -e``."""
        return "\n".join(
            (
                f"# {self.name}, {self.times.words}; add it with: scrontab -e",
                "# More options for the job, e.g.: #SCRON --time=30 --mem=4G --mail-type=FAIL",
                f"#SCRON --job-name={self.name}",
                "#SCRON --open-mode=append",
                self._line(),
                "",
            )
        )

    def systemd(self) -> str:
        """A service and its timer, one after the other."""
        program, *first = self.program
        if any(c in "\"'\\$" for c in program):
            raise UsageError(
                f"{program!r} has a quote, a backslash or a dollar sign, which systemd does not "
                "take in a program's path",
                remedy="install harvest elsewhere, or use --form cron",
            )
        words = [for_systemd(program), *map(for_systemd, (*first, *self.arguments))]
        calendars = [f"OnCalendar={calendar}" for calendar in self.times.calendars()]
        return "\n".join(
            (
                f"# ~/.config/systemd/user/{self.name}.service",
                "# (for the whole machine: /etc/systemd/system/, with User= in [Service])",
                "[Unit]",
                f"Description=harvest {self.name}",
                "",
                "[Service]",
                "Type=oneshot",
                f"WorkingDirectory={for_systemd_path(self.directory)}",
                f"ExecStart={' '.join(words)}",
                "# 3: committed, with rejects",
                "SuccessExitStatus=3",
                "",
                f"# ~/.config/systemd/user/{self.name}.timer",
                "# Begin with: systemctl --user daemon-reload",
                f"#             systemctl --user enable --now {self.name}.timer",
                f"# What it prints: journalctl --user -u {self.name}",
                "[Unit]",
                f"Description=harvest {self.name}, {plain_text(self.times.words)}",
                "",
                "[Timer]",
                *calendars,
                "Persistent=true",
                "",
                "[Install]",
                "WantedBy=timers.target",
                "",
            )
        )

    def _line(self) -> str:
        words = " ".join(map(for_cron, (*self.program, *self.arguments)))
        command = f"cd {for_cron(self.directory)} && exec {words}"
        if len(command.encode()) > CRON_COMMAND_BYTES:
            raise UsageError(
                f"the command has {len(command.encode())} bytes, more than every cron takes",
                remedy="write the options into a recipe: harvest run ... --print-config",
            )
        return f"{self.times.cron} {command}"


FORMS: dict[str, Callable[[Entry], str]] = {
    "cron": Entry.cron,
    "systemd": Entry.systemd,
    "slurm": Entry.slurm,
}
"""How each form is written."""
