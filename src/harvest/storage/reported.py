"""A sink is not believed: the rows that it says it holds are counted against those it was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from harvest.api.sink import PartFile, Sink
from harvest.errors import PluginError


def require_rows(
    sink: Sink, given: Mapping[str, int], files: Iterable[PartFile], *, does: str, where: str
) -> None:
    """Raise PluginError unless the files of a part hold just the rows that a sink was given.

    given: rows by record type; does: what the sink does with them; where: the part's origin.
    """
    held = Counter[str]()
    for file in files:
        held[file.record_type] += file.rows
    if held == given:  # as nearly always
        return
    together = held.pop("events", 0)  # of several types, of which only the sum is known
    for name in sorted({*given, *held}):
        rows, found = given.get(name, 0), held[name]
        if found > rows or (found < rows and not together):
            raise _refusal(sink, name, rows, found, does=does, where=where)
    rows, found = sum(given.values()), held.total() + together
    if found != rows:
        names = " and ".join(sorted(given))
        raise _refusal(sink, names, rows, found, does=does, where=where)


def _refusal(
    sink: Sink, names: str, rows: int, found: int, *, does: str, where: str
) -> PluginError:
    plugin = f"{type(sink).__module__}.{type(sink).__qualname__}"
    return PluginError(
        f"sink {sink.name!r} ({plugin}) was given {rows} rows of {names} and {does} {found}",
        where=where,
        remedy="report this to the plugin's author; nothing of this run was committed",
    )
