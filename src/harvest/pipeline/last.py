"""When a dataset last got all that its sources had, by the records of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from harvest.api.sink import Sink
from harvest.recipes.days import is_since_last
from harvest.recipes.uses import SourceUse
from harvest.storage.manifest import GIVEN_UP
from harvest.storage.target import manifest_of

from .record import described, read_record


def last_day(uses: Sequence[SourceUse], sinks: Sequence[Sink]) -> date | None:
    """The day, here, of the last run of these sources into these datasets.

    Of several the earliest; None where some source was not read into some dataset, or where that
    is not known, since a run's record was given up.  Runs that looked at some inputs only do not
    count, unless these were all since the last.
    """
    days = [_last_day(use, sink) for use in uses for sink in sinks]
    return None if None in days else min(filter(None, days), default=None)


def _last_day(use: SourceUse, sink: Sink) -> date | None:
    manifest = manifest_of(sink)
    runs = manifest.runs
    # one that was given up may have been a rollback, after which all counts anew
    while runs and manifest.records.get(runs[-1]) != GIVEN_UP:
        record = read_record(sink, manifest, runs[-1])
        runs = runs[:-1]
        if record["action"] == "rollback":  # what came after that state is not there any more
            runs = runs[: runs.index(record["to"]) + 1]
        elif _looked_at_all(record) and described(use) in [
            {"name": source["name"], "location": source["location"]} for source in record["sources"]
        ]:
            return datetime.fromisoformat(record["started"]).astimezone().date()
    return None


def _looked_at_all(record: dict[str, Any]) -> bool:
    since = record.get("since")
    some = record.get("changed") or record["limit"] or not (since is None or is_since_last(since))
    return record["action"] == "run" and not some
