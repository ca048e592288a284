"""The runs that wrote a dataset."""

from __future__ import annotations

from typing import Any

import polars as pl

from harvest.api.settings import structure
from harvest.api.sink import Sink
from harvest.errors import DatasetError
from harvest.pipeline.record import read_record
from harvest.storage.accounts import accounts_of
from harvest.storage.manifest import Manifest

IN_FORCE = "in force"
KEPT = "kept"


def read_runs(sink: Sink, manifest: Manifest, skip: int = 0) -> list[dict[str, Any]]:
    """The records of all committed runs but the ``skip`` oldest, oldest first.

    Each has a key ``state``: ``in force``, ``kept`` where one can go back to it, or null; and a key
    ``problem``, null unless the record is missing, damaged or given up: then it has nothing else.
    """
    states = dict.fromkeys(manifest.kept, KEPT) | {manifest.run: IN_FORCE}
    records = []
    for run in manifest.runs[skip:]:
        found: dict[str, Any] = {"run": run, "state": states.get(run), "problem": None}
        try:
            found = {**read_record(sink, manifest, run), **found}
        except DatasetError as error:
            found["problem"] = str(error)
        records.append(found)
    return records


def settings_used(
    sink: Sink, manifest: Manifest, source: str, setting: str, config: type
) -> list[Any]:
    """Values of a setting in the runs that read the rows of a source, earliest run first.

    config: class of the source's settings, which knows the value of one that was not given.
    """
    accounts = accounts_of(manifest.parts)
    held = accounts.filter(pl.col("source") == source, pl.col("written") > 0)
    values: list[Any] = []
    for run in sorted(held["run"].unique(), key=manifest.runs.index):
        given = read_record(sink, manifest, run)["settings"].get(source, {})
        mine = {
            key: value
            for key, value in given.items()
            if key.replace("-", "_").partition(".")[0] == setting
        }
        value = getattr(structure(config, mine, plugin=source), setting)
        if value not in values:
            values.append(value)
    return values
