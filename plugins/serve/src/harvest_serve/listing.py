"""Which tables a dataset has: record types with rows, and views."""

from __future__ import annotations

from datetime import datetime

import attrs

from .state import Snapshot


@attrs.frozen(kw_only=True)
class Table:
    """A record type or view of a dataset.

    kind: ``record type`` or ``view``; rows: how many, where known without building it.
    doc: what its rows are; first, last: the span of times in its rows, of record types that have
    times.
    """

    name: str
    kind: str
    rows: int | None
    doc: str
    first: datetime | None = None
    last: datetime | None = None


def tables(snapshot: Snapshot) -> list[Table]:
    """Record types with rows, by name, and the views that the dataset can serve."""
    return snapshot.keep("tables", lambda: _tables(snapshot))


def _tables(snapshot: Snapshot) -> list[Table]:
    dataset, plugins = snapshot.dataset, snapshot.dataset.plugins
    types = plugins.record_types(dataset.record_types)
    held = [
        Table(
            name=each.record_type,
            kind="record type",
            rows=each.rows,
            doc=types[each.record_type].doc if each.record_type in types else "",
            first=each.first,
            last=each.last,
        )
        for each in dataset.holdings()
    ]
    views = [
        Table(name=name, kind="view", rows=None, doc=plugins.views[name].doc)
        for name in dataset.views()
    ]
    return [*held, *views]
