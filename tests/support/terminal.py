"""A terminal as a person has it: 80 columns, and what is to be seen on it in the end."""

import os
import re
import sys
from pathlib import Path

import attrs
import pexpect
import pyte

COLUMNS, LINES = 80, 24
_PROGRAM = """
import shlex, sys
from harvest.cli.main import main
for line in sys.argv[1:]:
    try:
        main(shlex.split(line)[1:])
    except SystemExit as end:
        print(f"\\x1e{end.code or 0}\\x1e", end="", flush=True)
"""
"""Runs the commands given, each a line; it marks each exit code by odd characters."""

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
            sys.executable, ["-c", _PROGRAM, *commands], cwd=str(self.directory),
            env=self.environment, dimensions=(LINES, COLUMNS), encoding="utf-8", timeout=timeout_s,
        )  # fmt: skip
        try:
            child.expect(pexpect.EOF)
        finally:
            child.close(force=True)
        *parts, rest = str(child.before).split("\x1e")
        assert (len(parts), rest) == (2 * len(commands), "")
        written, codes = parts[::2], map(int, parts[1::2])
        return list(map(Shown, commands, codes, map(_seen, written), written))


def _seen(written: str) -> str:
    screen = pyte.HistoryScreen(COLUMNS, LINES, history=100_000, ratio=0.5)
    pyte.Stream(screen).feed(written)
    rows = [*screen.history.top, *(screen.buffer[n] for n in range(LINES))]
    lines = ["".join(row[n].data for n in range(COLUMNS)).rstrip() for row in rows]
    return "\n".join(lines).rstrip("\n") + "\n"
