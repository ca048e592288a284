"""The runs that wrote a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from harvest.errors import DatasetError
from harvest.run.commit import RUNS

__all__ = ["read_runs"]


def read_runs(state: Path) -> list[dict[str, Any]]:
    """The records of all committed runs, oldest first; raises DatasetError for a damaged one."""
    records = []
    for path in sorted((state / RUNS).glob("*.json")):
        try:
            records.append(orjson.loads(path.read_bytes()))
        except orjson.JSONDecodeError as error:
            raise DatasetError(
                f"the record of a run is damaged: {error}",
                where=str(path),
                remedy="restore it from a backup, or remove it",
            ) from error
    return records
