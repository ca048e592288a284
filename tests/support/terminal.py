"""A terminal as a person has it: 80 columns, and what is to be seen on it in the end."""

import os
import re
import sys
from pathlib import Path

import attrs
import pexpect
import pyte
from commands import ONE_AFTER_THE_OTHER, printed

COLUMNS, LINES = 80, 24
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][AB0]")
_COLOURS = re.compile(r"\x1b\[(?:[0-9;]*;)?[349][0-9][0-9;]*m")


@attrs.frozen
class Shown:
    """What a command did on a terminal.

    text: the lines to be seen in the end, also those scrolled away; written: all that was sent.
    """

    command: str
    exit: int
    text: str
    written: str

    @property
    def coloured(self) -> bool:
        return _COLOURS.search(self.written) is not None

    @property
    def lines(self) -> list[str]:
        """Lines as they were written, before a terminal breaks those that are too long."""
        last = (line.rpartition("\r")[2] for line in self.written.replace("\r\n", "\n").split("\n"))
        return [_CODES.sub("", line).rstrip() for line in last]


class Terminal:
    """Runs commands of ``harvest`` in a directory, in one process, which has a terminal.

    colour: whether the person wants colours (NO_COLOR is set otherwise).
    """

    def __init__(self, directory: Path, *, colour: bool):
        self.directory = directory
        kept = {"LANG": "C.UTF-8", "HOME": str(directory), "PATH": os.environ["PATH"]}
        kept |= {"TERM": "xterm-256color"}
        self.environment = kept if colour else kept | {"NO_COLOR": "1"}

    def run(self, *commands: str, timeout_s: float = 300) -> list[Shown]:
        """Run the commands, each to its end."""
        child = pexpect.spawn(
            sys.executable, ["-c", ONE_AFTER_THE_OTHER, *commands], cwd=str(self.directory),
            env=self.environment, dimensions=(LINES, COLUMNS), encoding="utf-8", timeout=timeout_s,
        )  # fmt: skip
        try:
            child.expect(pexpect.EOF)
        finally:
            child.close(force=True)
        return [
            Shown(done.args, done.returncode, _seen(done.stdout), done.stdout)
            for done in printed(commands, str(child.before))
        ]


def _seen(written: str) -> str:
    screen = pyte.HistoryScreen(COLUMNS, LINES, history=100_000, ratio=0.5)
    pyte.Stream(screen).feed(written)
    rows = [*screen.history.top, *(screen.buffer[n] for n in range(LINES))]
    lines = ["".join(row[n].data for n in range(COLUMNS)).rstrip() for row in rows]
    return "\n".join(lines).rstrip("\n") + "\n"
