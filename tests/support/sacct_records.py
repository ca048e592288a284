"""The records of a dump of ``sacct``, by a plain and slow reading of what sacct writes.

sacct writes a header with the names of the columns, then each record as its fields with the
delimiter between them (``--parsable``: and one behind the last), and a line end.  It escapes
nothing.  So a text is a dump of some records if writing these records gives that text, and each
field is what sacct may write there.  ``readings`` finds all such lists of records, by trying every
place where a field may end.  It shares no code with the plugin.
"""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

Record: TypeAlias = tuple[str, ...]
"""Fields of a record."""

SHAPES: Final = {
    "JobID": r"[0-9]+(_([0-9]+|\[[0-9,%.-]+\])|\+[0-9]+)?(\.([0-9]+|batch|extern))?",
    "State": r"(COMPLETED|FAILED|RUNNING|TIMEOUT|PENDING|CANCELLED( by [0-9]+)?)",
    "ExitCode": r"[0-9]+:[0-9]+",
    "Elapsed": r"([0-9]+-)?[0-9][0-9]:[0-9][0-9]:[0-9][0-9]",
    "User": r"[a-z0-9]*",
}
"""What sacct writes into a column; any text at all where the column is not named here."""


def readings(
    text: str, columns: Sequence[str], delimiter: str, *, trailing: bool, most: int = 2
) -> list[list[Record]]:
    """Every list of records whose dump is ``text``, up to ``most`` of them."""
    after: dict[int, list[list[Record]]] = {len(text): [[]]}
    for begin in reversed(range(len(text))):
        if begin and text[begin - 1] != "\n":
            continue
        found: list[list[Record]] = []
        for record, end in _records_at(text, begin, columns, delimiter, trailing=trailing):
            found += [[record, *rest] for rest in after.get(end, [])]
        after[begin] = found[:most]
    return after[0]


def _records_at(
    text: str, begin: int, columns: Sequence[str], delimiter: str, *, trailing: bool
) -> list[tuple[Record, int]]:
    """Every record that may begin at a place, and where the next one would begin."""
    partial: list[tuple[Record, int]] = [((), begin)]
    for number, column in enumerate(columns, start=1):
        end = delimiter if number < len(columns) else delimiter * trailing + "\n"
        longer = []
        for fields, place in partial:
            stop = text.find(end, place)
            while stop >= 0:
                field = text[place:stop]
                if column not in SHAPES or re.fullmatch(SHAPES[column], field):
                    longer.append(((*fields, field), stop + len(end)))
                stop = text.find(end, stop + 1)
        partial = longer
    return partial


def csv_records(text: str) -> list[Record] | None:
    """Records of comma-separated values; None where a quote stands where CSV places none."""
    records: list[Record] = []
    fields: list[str] = []
    place = 0
    while place < len(text):
        if text[place] == '"':
            field = ""
            while True:
                close = text.find('"', place + 1)
                if close < 0:
                    return None
                field += text[place + 1 : close]
                place = close + 1
                if text[place : place + 1] != '"':
                    break
                field += '"'
        else:
            stop = re.compile(r"[,\n]|\Z").search(text, place).start()  # type: ignore[union-attr]
            field = text[place:stop]
            if '"' in field:
                return None
            place = stop
        if text[place : place + 1] not in (",", "\n", ""):
            return None
        fields.append(field)
        if text[place : place + 1] == ",":
            place += 1
            if place < len(text):
                continue
            fields.append("")
        records.append(tuple(fields))
        fields, place = [], place + 1
    return records
