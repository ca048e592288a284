"""What ``harvest watch`` prints."""

from __future__ import annotations

import sys
from datetime import datetime

from harvest import RunResult
from harvest.commands import print_json_line, remark
from harvest.toolkit.amounts import count_in_words

from .loop import Reporter


class Lines(Reporter):
    """A line for each round that committed something; remarks on standard error."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        self.parts = self.rows = self.rejects = 0

    def committed(self, result: RunResult) -> None:
        now = datetime.now().astimezone()
        account = result.account
        parts, rows, rejects = len(result.parts), account.written, account.rejected
        self.parts, self.rows = self.parts + parts, self.rows + rows
        self.rejects += rejects
        if self.json:
            print_json_line({"time": now.isoformat(), **result.document()})
        else:
            dropped = f", {len(result.dropped)} dropped" if result.dropped else ""
            print(f"{now:%Y-%m-%d %H:%M:%S}  {_sum(parts, rows, rejects)}{dropped}")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        remark(text)

    def stopped(self, rounds: int) -> None:
        total = _sum(self.parts, self.rows, self.rejects)
        self.note(f"stopped after {count_in_words(rounds, 'round')}: {total}")


def _sum(parts: int, rows: int, rejects: int) -> str:
    counts = {"part": parts, "row": rows, "reject": rejects}
    return ", ".join(count_in_words(number, word) for word, number in counts.items())
