"""A record type for each kind of value of the model, with values that are often written wrong."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import attrs
import pyarrow as pa

from harvest.model import Int32, Record, RecordType, UInt32, UInt64, field, record, record_type
from harvest.model.arrow import table_of


@attrs.define
class Inner:
    """A nested value."""

    name: str | None = None
    ratio: float | None = None
    seen: datetime | None = None
    words: list[str] | None = None
    data: bytes | None = None
    flag: bool | None = None
    number: UInt64 | None = None


_TEXTS = (
    "plain", "", " ", 'a "quoted", text', "back\\slash \\n \\u0041", "tab\tline\nreturn\r",
    "nul \0 and control \x01\x1f\x7f", "Zürich 東京 🙂 e\u0301 \ufeff \u2028", "NaN", "null",
    "NULL", "0x10", "1e400", "2024-02-30", "x" * 70_000,
)  # fmt: skip
_FLOATS = (
    0.0, -0.0, 0.1, 1.5, -2.0, 1e22, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
_TIMES = (
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 30, 45, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
)

_VALUES: Final[Mapping[str, tuple[Any, Sequence[Any]]]] = {
    "text": (str, _TEXTS),
    "bytes": (bytes, (b"", b"\0\xff\xfe", bytes(range(256)), b"x" * 70_000)),
    "boolean": (bool, (True, False)),
    "integer": (int, (0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63))),
    "small_integer": (Int32, (0, 2**31 - 1, -(2**31))),
    "small_id": (UInt32, (0, 2**32 - 1)),
    "id": (UInt64, (0, 2**53 + 1, 2**63, 2**64 - 1)),
    "number": (float, _FLOATS),
    "time": (datetime, _TIMES),
    "texts": (list[str | None], ([], [""], [None, "a", None], list(_TEXTS[:-1]))),
    "numbers": (list[float], ([], list(_FLOATS))),
    "ids": (list[UInt64], ([], [0, 2**64 - 1])),
    "lists": (list[list[int | None] | None], ([], [[]], [[1, 2], [], None, [None, 3]])),
    "structure": (
        Inner,
        (
            Inner(),
            Inner(name="", ratio=0.0, words=[]),
            Inner(name="a", seen=_TIMES[2], words=["b"], flag=False),
            Inner(data=b"\0\xff", flag=True, number=2**64 - 1),
        ),
    ),
    "structures": (
        list[Inner | None],
        ([], [None, Inner()], [Inner(name="a"), Inner(ratio=-0.0, words=[""])]),
    ),
    "text_map": (
        dict[str, str | None],
        ({}, {"": "", "no": None}, {"b": "1", "a": "2", 'q"\n': "\\"}),
    ),
    "number_map": (dict[str, float], ({}, {"nan": float("nan"), "most": 1.7976931348623157e308})),
    "integer_map": (dict[str, int], ({}, {"least": -(2**63), "none": 0})),
}


def _type_of(name: str, annotation: Any) -> RecordType:
    """Make a record type with a value column; its class is global, so that it can be pickled."""
    words = "".join(part.capitalize() for part in name.split("_"))
    body = {
        "__annotations__": {"label": str, "value": annotation | None},
        "__doc__": f"Values of the kind {name}.",
        "__module__": __name__,
        "label": field(role="subject", doc="Which of them it is."),
        "value": field(doc="The value."),
    }
    plain: type[Record] = type(words, (Record,), body)
    cls = record(f"conformance.{name}", layer="workflow", level="client")(plain)
    globals()[words] = cls
    return record_type(cls)


KINDS: Final[Mapping[str, RecordType]] = {
    name: _type_of(name, annotation) for name, (annotation, _) in _VALUES.items()
}
"""Kind of value -> record type."""


def table_with(kind: str) -> pa.Table:
    """Make rows with all test values of a kind, and nulls."""
    values = [None, *_VALUES[kind][1], None]
    cls: Any = KINDS[kind].cls
    extra: Sequence[dict[str, str] | None] = ({"a key": "a value"}, None, {})
    rows = [
        cls(label=f"{kind} {n}", value=value, extra=extra[n % 3], origin=f"/in/{n % 2}", position=n)
        for n, value in enumerate(values, 1)
    ]
    return table_of(KINDS[kind], rows)


@record("conformance.line", layer="workflow", level="client")
class Line(Record):
    """A line of text."""

    time: datetime | None = field(role="time", doc="When it was written.")
    text: str = field(role="subject", doc="The line.")


@record("conformance.other", layer="job", level="job")
class Other(Record):
    """A record of another type from the same input."""

    text: int = field(doc="A column of the same name and another type.")


@record("conformance.line", layer="workflow", level="client", version=2)
class LaterLine(Line):
    """A line of text, after columns were added to it."""

    count: int | None = field(doc="A column that came later.")
    words: dict[str, str] | None = field(doc="Another.")


@record("conformance.names", layer="workflow", level="client")
class Names(Record):
    """A row whose columns have names that are easily confused."""

    zLast: str = field(role="subject", doc="A name that begins small.")  # noqa: N815
    Value: int | None = field(doc="A name with a capital.")
    value2: int | None = field(doc="A name that differs from it little.")
    select: str | None = field(doc="A word of SQL.")
    aFirst: str | None = field(doc="The last column, whose name comes first.")  # noqa: N815


LINE, OTHER, LATER = record_type(Line), record_type(Other), record_type(LaterLine)
NAMES = record_type(Names)


def lines(kind: RecordType, *positions: int, text: str = "line", origin: str = "/in") -> pa.Table:
    """Make rows of ``LINE``, ``LATER`` or ``OTHER`` at the given positions."""
    rows: list[Record] = []
    for position in positions:
        made: Record = Line(time=_TIMES[2], text=text)
        if kind is OTHER:
            made = Other(text=position)
        elif kind is LATER:
            made = LaterLine(time=_TIMES[2], text=text, count=position, words={"a": text})
        rows.append(attrs.evolve(made, origin=origin, position=position))
    return table_of(kind, rows)


def names() -> pa.Table:
    """Make rows of ``NAMES``."""
    rows = [
        Names(zLast=f"z{n}", Value=n, value2=-n, select="x", aFirst=None, origin="/in", position=n)
        for n in (1, 2, 3)
    ]
    return table_of(NAMES, rows)
