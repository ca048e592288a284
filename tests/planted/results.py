"""What came of each planted bug, kept in ``results.json``."""

from __future__ import annotations

import fcntl
import json
import tempfile
from pathlib import Path
from typing import Final, TypeAlias

COLUMNS: Final = ("before", "after")
PATH: Final = Path(__file__).with_name("results.json")
LOCK: Final = Path(tempfile.gettempdir(), "harvest-planted.lock")


Results: TypeAlias = "dict[str, dict[str, str | None]]"


def load() -> Results:
    """By bug and column: the promise that caught it, None where none did."""
    return json.loads(PATH.read_text()) if PATH.exists() else {}


def keep(bug: str, column: str, caught: str | None) -> None:
    """Write down what came of a bug."""
    with LOCK.open("w") as lock:  # several may try bugs at a time
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = load()
        held.setdefault(bug, {})[column] = caught
        lines = [f"  {json.dumps(name)}: {json.dumps(held[name])}" for name in sorted(held)]
        PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
