"""A scheduled harvest in the formats of crontab, scrontab and systemd.

Each format has its own rules for quoting, so names are quoted for the program that reads them. A
name that a format cannot represent is refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

import attrs

from harvest import UsageError

from .times import Times

CRON_COMMAND_BYTES = 990
"""Maximum bytes of a command: some crons accept at most 999."""


def _checked_name(instance: Entry, attribute: object, value: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", value):
        raise UsageError(
            f"{value!r} is not a name for a unit or a job",
            remedy="use letters, digits, '-', '_' and '.'",
        )


@attrs.frozen(kw_only=True)
class Entry:
    """A command to run and its times.

    name: name of the units or the job; program: the words that start harvest, its path first;
    arguments: the words after them; directory: absolute working directory.
    after: arguments of a second call, made if the first one committed; empty for no second call.
    """

    name: str = attrs.field(validator=_checked_name)
    times: Times
    program: Sequence[str]
    arguments: Sequence[str]
    directory: str
    after: Sequence[str] = ()

    def cron(self) -> str:
        """Format as a line for ``crontab -e``."""
        return (
            f"# {self.name}, {self.times.words}; add it with: crontab -e\n"
            "# What it prints is mailed to MAILTO; to a file instead: end the line with\n"
            "#   >>harvest.log 2>&1\n"
            "# A run that meets the one before still at work writes nothing (see --wait).\n"
            f"{self._line()}\n"
        )

    def slurm(self) -> str:
        """Format as an entry for ``scrontab -e``."""
        return (
            f"# {self.name}, {self.times.words}; add it with: scrontab -e\n"
            "# More options for the job, e.g.: #SCRON --time=30 --mem=4G --mail-type=FAIL\n"
            f"#SCRON --job-name={self.name}\n"
            "#SCRON --open-mode=append\n"
            f"{self._line()}\n"
        )

    def systemd(self) -> str:
        """Format as a systemd service followed by its timer."""
        program, *first = self.program
        if any(c in "\"'\\$" for c in program):
            raise UsageError(
                f"{program!r} has a quote, a backslash or a dollar sign, which systemd does not "
                "take in a program's path",
                remedy="install harvest elsewhere, or use --form cron",
            )
        calls = [
            " ".join([for_systemd(program), *map(for_systemd, (*first, *arguments))])
            for arguments in (self.arguments, self.after)
            if arguments
        ]
        calendars = [f"OnCalendar={calendar}" for calendar in self.times.calendars()]
        lines = (
            f"# ~/.config/systemd/user/{self.name}.service",
            "# (for the whole machine: /etc/systemd/system/, with User= in [Service])",
            "[Unit]",
            f"Description=harvest {self.name}",
            "",
            "[Service]",
            "Type=oneshot",
            f"WorkingDirectory={for_systemd_path(self.directory)}",
            *(f"ExecStart={call}" for call in calls),
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
        )
        return "".join(f"{line}\n" for line in lines)

    def _line(self) -> str:
        directory, run = for_cron(self.directory), self._words(self.arguments)
        command = f"cd {directory} && exec {run}"
        if self.after:  # 3: committed, with rejects
            then = f"case $code in 0|3) {self._words(self.after)} || exit;; esac"
            command = f"cd {directory} || exit; {run}; code=$?; {then}; exit $code"
        if len(command.encode()) > CRON_COMMAND_BYTES:
            raise UsageError(
                f"the command has {len(command.encode())} bytes, more than every cron takes",
                remedy="write the options into a recipe: harvest run ... --print-config",
            )
        return f"{self.times.cron} {command}"

    def _words(self, arguments: Sequence[str]) -> str:
        return " ".join(map(for_cron, (*self.program, *arguments)))


FORMS: dict[str, Callable[[Entry], str]] = {
    "cron": Entry.cron,
    "systemd": Entry.systemd,
    "slurm": Entry.slurm,
}
"""Function that writes each format, by name."""


_IN_A_RECIPE = "write it into a recipe, and name that: harvest schedule RECIPE.toml"


def plain_text(word: str) -> str:
    """Return the word if a line of a text file can contain it; raises UsageError if not."""
    if any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029" for c in word):
        raise UsageError(
            f"{word!r} has a line end or another control character", remedy=_IN_A_RECIPE
        )
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{word!r} is not UTF-8", remedy=_IN_A_RECIPE) from None
    return word


def for_cron(word: str) -> str:
    """Quote one word of a command line in a crontab or scrontab.

    Cron reads ``%`` as the end of the line and ``\\%`` as a percent sign, even within quotes; a
    shell then reads the result. A backslash before a percent sign *outside* quotes means the same
    to cron, to the shell, and to Slurm, where ``%`` is an ordinary character.
    Raises UsageError for a backslash: crons treat it differently.
    """
    if "\\" in plain_text(word):
        raise UsageError(
            f"{word!r} has a backslash, which crons read differently", remedy=_IN_A_RECIPE
        )
    if not word:
        return "''"
    return "\\%".join(shlex.quote(piece) if piece else "" for piece in word.split("%"))


def for_systemd(word: str) -> str:
    """Quote one argument of ``ExecStart=`` (systemd.service(5), "Command lines")."""
    if re.fullmatch(r"[A-Za-z0-9_@+=:,./-]+", word):
        return word
    inner = plain_text(word).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + inner.replace("%", "%%").replace("$", "$$") + '"'


def for_systemd_path(path: str) -> str:
    """Escape an absolute path that is the whole value of a setting, where quotes have no effect."""
    value = plain_text(path).replace("%", "%%")
    # a space at the end would be cut off, a backslash there would join the next line
    return f"{value}/" if value.endswith(("\\", " ")) or value != value.rstrip() else value
