"""The tables of ``docs/testing-plugins.md`` that say which bugs the kit finds, and which it cannot.

python -m planted.table     # in the directory tests: writes them into the page
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from planted.bug import Bug
from planted.source_bugs import FOUND, UNSEEN
from planted.view_bugs import REPORT_BUGS, VIEW_BUGS

__all__ = ["PAGE", "in_page", "tables"]

PAGE = Path(__file__).resolve().parents[4] / "docs" / "testing-plugins.md"


def tables() -> dict[str, str]:
    """Each table by its heading."""
    unseen = [f"| {bug.says} | {bug.why} |" for bug in UNSEEN]
    return {
        "Bugs that the kit finds": _found(FOUND),
        "Bugs of views and reports that the kit finds": _found([*VIEW_BUGS, *REPORT_BUGS]),
        "Bugs that pass": "\n".join(("| bug | why |", "|---|---|", *unseen)),
    }


def _found(bugs: Iterable[Bug]) -> str:
    rows = [f"| {bug.says} | `{bug.found_by.partition('[')[0]}` |" for bug in bugs]
    return "\n".join(("| bug | found by |", "|---|---|", *rows))


def in_page(heading: str) -> re.Pattern[str]:
    """The table of the page's section with this heading."""
    return re.compile(rf"(?<=### {heading}\n)([^|#]*\n)((?:\|.*\n)+)")


if __name__ == "__main__":
    text = PAGE.read_text()
    for name, table in tables().items():
        text = in_page(name).sub(lambda old, table=table: f"{old[1]}{table}\n", text, count=1)
    PAGE.write_text(text)
