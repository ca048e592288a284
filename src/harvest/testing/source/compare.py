"""Everything that came of reading, as lines of text that can be compared.

Two readings are the same when their lines are: rows, rejects, counts and notes, with the sample's
own path left out, so that a copy of the sample at another place gives the same lines.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harvest.pipeline.collect import Collected
from harvest.toolkit.texts import printable

__all__ = ["difference", "lines_of", "rows_as_lines"]

_SHOWN = 4
_WIDTH = 300


def lines_of(found: Collected, root: Path | str | None = None) -> list[str]:
    """All that was found, one line each, in no order that a plan or a file name decides.

    root: the sample's place, shown as ``<sample>`` wherever a value holds it.
    """
    lines = [
        line for name, table in found.tables.items() for line in rows_as_lines(name, table, root)
    ]
    lines += [
        f"reject {_placed((r.origin, r.position, r.raw, r.reason, r.record_type), root)!r}"
        for r in found.rejects
    ]
    lines += [f"filtered {n} {_placed(why, root)!r}" for why, n in found.filtered.items()]
    lines += [f"folded {n} {_placed(why, root)!r}" for why, n in found.folded.items()]
    lines += [f"note {_placed(note, root)!r}" for note in found.notes]
    return sorted([*lines, f"units {found.units}"])


def rows_as_lines(name: str, table: Any, root: Path | str | None = None) -> list[str]:
    """The rows of a table, one line each, in their order."""
    return [f"{name} {_placed(row, root)!r}" for row in table.to_pylist()]


def _placed(value: Any, root: Path | str | None) -> Any:
    """A value with the sample's place taken out of its texts and bytes."""
    if root is None:
        return value
    if isinstance(value, str):
        return value.replace(printable(os.fspath(root)), "<sample>")
    if isinstance(value, bytes):
        return value.replace(os.fsencode(root), b"<sample>")
    if isinstance(value, dict):
        return {_placed(key, root): _placed(item, root) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_placed(item, root) for item in value]
    return value


def difference(first: Iterable[str], second: Iterable[str]) -> str:
    """Lines that only one side has, the first few of each; empty where there are none."""
    one, other = Counter(first), Counter(second)
    shown = [*_only("-", one - other), *_only("+", other - one)]
    return "\n".join(shown)


def _only(mark: str, lines: Counter[str]) -> list[str]:
    missing = sorted(lines.elements())
    shown = [f"{mark} {line[:_WIDTH]}" for line in missing[:_SHOWN]]
    if len(missing) > _SHOWN:
        shown.append(f"{mark} ... and {len(missing) - _SHOWN} more")
    return shown
