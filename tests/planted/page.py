"""The tables of ``docs/testing-plugins.md``: what the kit catches of the planted bugs.

python -m tests.planted.page --write
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from . import results
from .bugs import BUGS, SETS
from .planting import Bug

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "testing-plugins.md"
MARKS: Final = ("<!-- planted bugs: python -m tests.planted.page --write -->\n", "<!-- end -->\n")
PARTS: Final = {
    "sources": ("lines", "ranges", "stations", "nested", "tree"),
    "views and reports": ("views", "joined", "report"),
    "sinks": ("csvsink", "sqlitesink"),
    "engines and exporters": ("engine", "exporter"),
}


def tables() -> str:
    """All of it, as Markdown."""
    held = results.load()
    later = [line for name, bugs in SETS.items() for line in (*_later(name, bugs, held), "")]
    return "\n".join([*_kinds(held), "", *later, *_unknowable()]) + "\n"


def _kinds(held: results.Results) -> Iterator[str]:
    yield "| bugs of | planted | knowable | caught before | after |"
    yield "|---|---|---|---|---|"
    for part, plugins in PARTS.items():
        yield _row(f"**{part}**", [bug for bug in BUGS if bug.plugin in plugins], held)
    yield _row("**all**", BUGS, held)
    for kind in sorted({bug.kind for bug in BUGS}):
        yield _row(kind, [bug for bug in BUGS if bug.kind == kind], held)


def _row(title: str, bugs: Sequence[Bug], held: results.Results) -> str:
    knowable = sum(not bug.unknowable for bug in bugs)
    counts = (_caught(bugs, held, column) for column in results.COLUMNS)
    return f"| {title} | {len(bugs)} | {knowable} | {' | '.join(counts)} |"


def _caught(bugs: Sequence[Bug], held: results.Results, column: str) -> str:
    """How many were caught, of those that were tried where that is not all."""
    tried = [held[bug.name][column] for bug in bugs if column in held.get(bug.name, {})]
    caught = sum(promise is not None for promise in tried)
    if not tried:
        return "-"
    return str(caught) if len(tried) == len(bugs) else f"{caught} of {len(tried)}"


def _later(name: str, bugs: Sequence[Bug], held: results.Results) -> Iterator[str]:
    yield f"| {name} set, at its first run | bugs | knowable | caught |"
    yield "|---|---|---|---|"
    for part, plugins in [*PARTS.items(), ("**all**", sum(PARTS.values(), ()))]:
        mine = [bug for bug in bugs if bug.plugin in plugins]
        knowable = sum(not bug.unknowable for bug in mine)
        yield f"| {part} | {len(mine)} | {knowable} | {_caught(mine, held, 'after')} |"


def _unknowable() -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for bug in (*BUGS, *(bug for bugs in SETS.values() for bug in bugs)):
        if bug.unknowable:
            reasons.setdefault(bug.unknowable, []).append(f"`{bug.name}`")
    yield "What cannot be known without knowing the format, or what the author means:"
    yield ""
    for reason, names in reasons.items():
        yield f"- {', '.join(names)}: {reason}."


def shown(page: str) -> str:
    """What stands between the marks of the page."""
    start, end = (re.escape(mark) for mark in MARKS)
    found = re.search(f"{start}(.*?){end}", page, re.DOTALL)
    return found[1] if found else ""


def main() -> None:
    """Print the tables, or put them into the page."""
    if "--write" not in sys.argv:
        print(tables(), end="")
        return
    page = PAGE.read_text()
    PAGE.write_text(page.replace(f"{MARKS[0]}{shown(page)}", f"{MARKS[0]}{tables()}"))


if __name__ == "__main__":
    main()
