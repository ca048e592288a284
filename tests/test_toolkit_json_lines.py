"""Lines of JSON as columns, compared with a reading of each line by itself."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harvest_toolkit.json_lines import json_columns
from harvest_toolkit.line_blocks import split

KNOWN = {"s": pl.String, "i": pl.Int64, "f": pl.Float64, "b": pl.Boolean}


def read(lines: list[str]) -> list[dict[str, Any] | str]:
    """A row for each line, without what is null; or what is wrong with it."""
    table, faults = json_columns(split("".join(f"{line}\n" for line in lines).encode(), 1), KNOWN)
    rows = table.to_pylist()
    assert len(rows) == len(lines)
    return [
        faults.get(place, {key: value for key, value in row.items() if value is not None})
        for place, row in enumerate(rows)
    ]


def extra(**members: str) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in members.items()]


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.integers(-9, 9),
    st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5),
    st.sampled_from(['"', "a:b", "null", "{", "[", "\\", ","]),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.text(max_size=2), st.none(), max_size=1),
)  # fmt: skip
FITTING = st.fixed_dictionaries(
    {},
    optional={
        "s": st.text(max_size=5), "i": st.integers(-(2**63), 2**63 - 1), "b": st.booleans(),
        "f": st.floats(allow_nan=False, allow_infinity=False), "other": VALUES,
    },
)  # fmt: skip
OBJECTS = FITTING | st.dictionaries(st.sampled_from(["s", "i", "f", "b", "x", "y:", 'q"']), VALUES)
FITS = {
    "s": lambda v: isinstance(v, str),
    "i": lambda v: type(v) is int and -(2**63) <= v < 2**63,
    "f": lambda v: type(v) in (int, float) and math.isfinite(v),
    "b": lambda v: isinstance(v, bool),
}


@settings(deadline=None)
@given(st.lists(OBJECTS, max_size=8), st.booleans(), st.booleans())
def test_what_is_written_is_read(
    objects: list[dict[str, Any]], compact: bool, ascii_only: bool
) -> None:
    """Given any objects, when written by Python's json, then rows hold their members."""
    form = {"separators": (",", ":") if compact else None, "ensure_ascii": ascii_only}
    found = read([json.dumps(each, **form) for each in objects])  # type: ignore[arg-type]
    for each, row in zip(objects, found, strict=True):
        there = {key: value for key, value in each.items() if value is not None}
        if not all(FITS[key](value) for key, value in there.items() if key in FITS):
            assert isinstance(row, str)
            continue
        assert isinstance(row, dict), (each, row)
        others = {e["key"]: e["value"] for e in row.pop("extra", [])}
        assert row == {key: value for key, value in there.items() if key in KNOWN}
        assert others.keys() == there.keys() - KNOWN.keys()
        for key, text in others.items():
            value = there[key]
            assert text == value if isinstance(value, str) else json.loads(text) == value


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("{}", {}),
        ('{"s": "a", "i": 1, "f": 2, "b": true}', {"s": "a", "i": 1, "f": 2.0, "b": True}),
        ('{"s": null, "x": null}', {}),
        ('{"i": 9223372036854775807}', {"i": 2**63 - 1}),
        ('{"x": 123456789012345678901.50}', {"extra": extra(x="123456789012345678901.50")}),
        ('{"x": {"y": [1.0, "\\u00e9"]}}', {"extra": extra(x='{"y":[1.0,"é"]}')}),
        ('{"s": "\\ud83d\\ude00"}', {"s": "😀"}),
        ('{"s": "x:y", "i": 1}', {"s": "x:y", "i": 1}),
        ('{"\\u0073": "a"}', {"s": "a"}),
    ],
)
def test_a_line_gives_a_row(line: str, row: dict[str, Any]) -> None:
    assert read([line]) == [row]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x", "not JSON"), ('{"i": 1', "not JSON"), ('{"i": NaN}', "not JSON: NaN"),
        ('{"i": 1} {"i": 2}', "not JSON: Extra data"), ("[1]", "not a JSON object"),
        ('{"i": 1, "i": 2}', "'i' is there twice"),
        ('{"x": {"y": 1, "y": 2}}', "'y' is there twice"),
        ('{"i": 1, "i": null}', "'i' is there twice"),
        ('{"i": 9223372036854775808}', "'i' is not a whole number of 64 bits"),
        ('{"i": 1.0}', "'i' is not a whole number"), ('{"i": "1"}', "'i' is not a whole number"),
        ('{"s": 1.0}', "'s' is not a text"), ('{"s": ["a"]}', "'s' is not a text"),
        ('{"s": {"a": 1}}', "'s' is not a text"), ('{"f": 1e400}', "'f' is not a number"),
        ('{"b": 1}', "'b' is not true or false"),
        ('{"s": "\\ud800"}', "text with half of a surrogate pair"),
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
)  # fmt: skip
def test_what_does_not_fit_has_a_reason_and_its_neighbours_are_read(line: str, reason: str) -> None:
    first, found, last = read(['{"i": 1}', line, '{"i": 3}'])
    assert (first, last) == ({"i": 1}, {"i": 3})
    assert isinstance(found, str)
    assert found.startswith(reason)


def test_among_many_lines_a_damaged_one_is_found() -> None:
    lines = [json.dumps({"i": number, "s": f"line {number}"}) for number in range(1000)]
    lines[777] = lines[777][:-3]
    found = read(lines)
    assert [place for place, row in enumerate(found) if isinstance(row, str)] == [777]
    assert found[778] == {"i": 778, "s": "line 778"}


@settings(deadline=None)
@given(st.lists(st.text('{}[]":,\\truefalsn0123.-e sib\x00é', min_size=1, max_size=12)))
def test_any_text_is_a_row_or_has_a_reason(lines: list[str]) -> None:
    for line, found in zip(lines, read(lines), strict=True):
        try:
            value = json.loads(line)
        except ValueError:
            assert isinstance(found, str), line
        else:
            assert isinstance(value, dict) or isinstance(found, str), line
