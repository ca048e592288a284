"""The answers of the tools: plain values, small enough for a model, with the units of numbers.

MOST_ROWS and MOST_CHARACTERS limit the rows. An answer says how many rows match, how many it shows,
and how to ask for the rest.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs
import orjson
import polars as pl

from harvest.model.json import encode_frame
from harvest_serve import reports, sql, tables
from harvest_serve.downloads import frame_of
from harvest_serve.questions import Question
from harvest_serve.state import Served, Snapshot

MOST_ROWS: Final = 200
"""Most rows of one answer."""

MOST_CHARACTERS: Final = 40_000
"""Most characters of rows, or of a report's text, in one answer: about 10,000 words."""

MOST_EXACT: Final = 2**53
"""Largest integer that is exact for clients that read JSON numbers as floats."""

EVIDENCE_ROWS: Final = 5
"""Most rows of evidence of a finding."""

WIDTH: Final = 120
"""Characters in a line of a report's text."""

Value = dict[str, Any]


def datasets(served: Mapping[str, Served]) -> Value:
    """List the datasets by the name that the other tools take."""
    return {"datasets": [{"dataset": s.name, "location": str(s.location)} for s in served.values()]}


def table_list(snapshot: Snapshot) -> Value:
    """List record types and views of a dataset, with the meaning of a row."""
    listed = [
        {
            "table": each.name,
            "kind": each.kind,
            "rows": each.rows,
            "meaning": each.doc,
            "first_time": each.first and each.first.isoformat(),
            "last_time": each.last and each.last.isoformat(),
        }
        for each in tables.tables(snapshot)
    ]
    return _of(snapshot, tables=[_known(each) for each in listed])


def table(snapshot: Snapshot, name: str, settings: Mapping[str, Any]) -> Value:
    """Describe a table: its columns with units and meanings, and its settings."""
    found = tables.describe(snapshot, name, settings)
    columns = [
        {"name": c.name, "type": c.type, "unit": c.unit, "meaning": c.doc, "operators": c.operators}
        for c in found.columns
    ]
    named = [
        {
            "name": each["name"],
            "meaning": each["doc"],
            "type": each["type"],
            "default": each["default"] or None,
            "choices": each["choices"] or None,
        }
        for each in found.settings
    ]
    return _of(
        snapshot,
        table=name,
        kind=found.kind,
        meaning=found.doc,
        columns=[_known(each) for each in columns],
        settings=[_known(each) for each in named],
    )


def rows(snapshot: Snapshot, name: str, asked: Question) -> Value:
    """Return rows of a record type or view."""
    limit = min(MOST_ROWS if asked.limit is None else asked.limit, MOST_ROWS)
    found, total = tables.rows(snapshot, name, attrs.evolve(asked, limit=limit))
    described = {c.name: c for c in tables.describe(snapshot, name, asked.settings).columns}
    shown, cut = _fit(frame_of(found))
    answer = _of(
        snapshot,
        table=name,
        columns=[
            _known({"name": n, "type": described[n].type, "unit": described[n].unit})
            for n in found.column_names
        ],
        rows_that_fit=total,
        first_row=asked.offset,
        rows_shown=len(shown),
        rows=shown,
    )
    rest = total - asked.offset - len(shown)
    if rest > 0 and not (cut and not shown):
        answer["not_shown"] = (
            f"{rest:,} more rows fit: ask again with offset={asked.offset + len(shown)}, "
            "or for less by filters and columns, or sum them up by the tool sql"
        )
    if cut:
        answer["cut"] = (
            f"the rows would be longer than {MOST_CHARACTERS:,} characters: name fewer columns"
        )
    return answer


def query(snapshot: Snapshot, text: str, settings: Mapping[str, Mapping[str, Any]]) -> Value:
    """Return the result of one SQL query."""
    found, has_more = sql.ask(snapshot, text, limit=MOST_ROWS, settings=settings)
    shown, cut = _fit(frame_of(found))
    units = {
        name: {c.name: c.unit for c in tables.describe(snapshot, name).columns if c.unit}
        for name in sql.tables_of(snapshot, text)
    }
    answer = _of(
        snapshot,
        columns=[{"name": f.name, "type": str(f.type)} for f in found.schema],
        rows_shown=len(shown),
        rows=shown,
        units_of_the_tables_that_it_reads={name: of for name, of in units.items() if of},
    )
    if has_more or cut:
        answer["not_shown"] = (
            f"there are more than these {len(shown):,} rows: group, or narrow them with WHERE; "
            "LIMIT and OFFSET give others"
        )
    return answer


def findings(snapshot: Snapshot) -> Value:
    """List findings, the worst first, each with the first rows of its evidence."""
    verdict = reports.findings(snapshot)
    whole = verdict.to_dict()
    room = MOST_CHARACTERS
    for plain, each in zip(whole["findings"], verdict.found, strict=True):
        first = each.evidence.first.head(EVIDENCE_ROWS)
        shown, _ = _fit(first, min(room, MOST_CHARACTERS // 8))
        room -= sum(len(orjson.dumps(row)) for row in shown)
        described = tables.describe(snapshot, each.evidence.view, each.evidence.settings).columns
        plain["certainty_in_words"] = each.certainty_in_words()
        plain["units"] = {c.name: c.unit for c in described if c.unit and c.name in first.columns}
        plain["rows_shown"], plain["first_rows"] = len(shown), shown
    return _of(snapshot, summary=verdict.summary(), **whole)


def report_list(snapshot: Snapshot) -> Value:
    """List the reports that a dataset can serve."""
    listed = [
        {
            "report": each["name"],
            "meaning": each["doc"],
            "settings": {setting["name"]: setting["doc"] for setting in each["settings"]},
        }
        for each in reports.reports(snapshot)
    ]
    return _of(snapshot, reports=listed)


def report(snapshot: Snapshot, name: str, settings: Mapping[str, Any], section: str | None) -> str:
    """Return a report as text, or one section of it."""
    made = reports.report(snapshot, name, settings)
    if section is not None:
        made = made.only(section)
    whole: str = made.text(WIDTH)
    if len(whole) <= MOST_CHARACTERS:
        return whole
    end = whole.rfind("\n", 0, MOST_CHARACTERS)
    names = ", ".join(each.name for each in made.sections)
    return (
        f"{whole[: end if end > 0 else MOST_CHARACTERS]}\n\n"
        f"[cut: {len(whole):,} characters in all. Ask for one section alone: {names}]"
    )


def _of(snapshot: Snapshot, **found: Any) -> Value:
    return {"dataset": snapshot.name, "commit": snapshot.commit, **found}


def _known(value: Value) -> Value:
    return {key: each for key, each in value.items() if each is not None}


def _fit(frame: pl.DataFrame, most: int = MOST_CHARACTERS) -> tuple[list[Any], bool]:
    """Return the first rows within a number of characters as objects, and whether more exist."""
    taken: list[Any] = []
    for text in encode_frame(frame):
        most -= len(text)
        if most < 0:
            return taken, True
        taken.append(_exact(orjson.loads(text)))
    return taken, False


def _exact(value: Any) -> Any:
    """Return a JSON value with large integers as text, which a reader's floats would round."""
    if isinstance(value, dict):
        return {key: _exact(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_exact(each) for each in value]
    # a bool is an int, too, but small
    return str(value) if isinstance(value, int) and abs(value) > MOST_EXACT else value
