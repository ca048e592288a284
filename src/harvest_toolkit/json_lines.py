"""Lines that are JSON objects as columns: known members typed, all others in ``extra``.

    KNOWN = {"user": pl.String, "bytes": pl.Int64}
    table, faults = json_columns(lines, KNOWN)

polars reads lines that hold nothing but what it reads exactly: known members, each once, none of
them null, nested or with escapes.  It leaves out members that it was not asked for, takes the first
of two with one key, and turns any value into text; so all other lines are read one by one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from harvest.toolkit.frames import TEXT_MAP

from .line_blocks import Faults, Lines
from .spans import Flags

__all__ = ["json_columns"]

Types: TypeAlias = "Mapping[str, type[pl.DataType]]"

_FEW: Final = 64
"""Lines of which one is damaged that are read one by one; more are halved before."""

_WORDS: Final[Mapping[type[pl.DataType], str]] = {
    pl.String: "a text",
    pl.Int64: "a whole number of 64 bits",
    pl.Float64: "a number",
    pl.Boolean: "true or false",
}


def json_columns(lines: Lines, known: Types) -> tuple[pa.Table, Faults]:
    """A row for each line.

    known: by key, the type of its column: pl.String, pl.Int64, pl.Float64 or pl.Boolean.
    Gives a column for each, null where a line lacks the member or it is null, with ``extra``:
    other members that are not null, texts as they are and any other value as JSON.  And what is
    wrong with lines that are not an object, have a key twice, a value of another type, or text
    that UTF-8 does not have; their rows mean nothing.
    """
    faults = Faults()
    texts: pl.Series = pl.from_arrow(lines.column())  # type: ignore[assignment]
    plain = pl.Series(_are_plain(lines), dtype=pl.Boolean)
    even, odd = plain.arg_true(), (~plain).arg_true()
    # the others never: what is nested deeply ends the process in polars below 2.1
    frames = _read(texts.gather(even), known, even, faults)
    if len(odd):
        frames.append(_one_by_one(texts.gather(odd), known, odd, faults))
    schema: dict[str, Any] = {**known, "extra": TEXT_MAP}
    rows = pl.concat([pl.DataFrame(schema=schema), *frames])
    return rows[pl.concat([even, odd]).arg_sort()].to_arrow(), faults


def _are_plain(lines: Lines) -> Flags:
    """Lines without an escape, a list, a null, or an object within."""
    data = lines.spans.data
    odd = np.cumsum((data == ord("\\")) | (data == ord("[")))
    braces = np.cumsum(data == ord("{"))
    first, last = lines.spans.start - 1, lines.spans.end - 1
    plain: Flags = (odd[last] == odd[first]) & (braces[last] - braces[first] == 1)
    return plain


def _read(texts: pl.Series, known: Types, places: pl.Series, faults: Faults) -> list[pl.DataFrame]:
    """The rows of some plain lines, with their places among all."""
    if not len(texts):
        return []
    try:
        frame = pl.read_ndjson(texts.str.join("\n")[0].encode(), schema=known)
    except pl.exceptions.PolarsError:
        if len(texts) > _FEW:
            half = len(texts) // 2
            return [
                *_read(texts[:half], known, places[:half], faults),
                *_read(texts[half:], known, places[half:], faults),
            ]
        return [_one_by_one(texts, known, places, faults)]
    # between quotes that are not escaped, each second stretch is text; the colons outside end keys
    outside = pl.lit(texts).str.replace_all(r'"[^"]*"', '"')
    given = {name: pl.col(name).is_not_null().cast(pl.UInt32) for name in known}
    words = [given[name] for name, kind in known.items() if kind == pl.String]
    keys = outside.str.count_matches(":", literal=True)
    quotes = outside.str.count_matches('"', literal=True)
    good = frame.select(
        (keys == pl.sum_horizontal(pl.lit(0, pl.UInt32), *given.values()))
        & (quotes == keys + pl.sum_horizontal(pl.lit(0, pl.UInt32), *words))
    ).to_series()
    frame = frame.with_columns(pl.lit(None, TEXT_MAP).alias("extra"))
    if good.all():
        return [frame]
    rows = (~good).arg_true()
    odd = _one_by_one(texts.gather(rows), known, places.gather(rows), faults)
    order = pl.concat([good.arg_true(), rows]).arg_sort()
    return [pl.concat([frame.filter(good), odd]).select(pl.all().gather(order))]


def _one_by_one(texts: pl.Series, known: Types, places: pl.Series, faults: Faults) -> pl.DataFrame:
    rows = []
    for place, text in zip(places, texts, strict=True):
        try:
            rows.append(_row(text, known))
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            faults.setdefault(place, reason)
            rows.append({})
    return pl.DataFrame(rows, schema={**known, "extra": TEXT_MAP}, orient="row")


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _row(text: str, known: Types) -> dict[str, Any]:
    """The row of one line; raises ValueError with what is wrong with it."""
    try:
        members = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    if not isinstance(members, dict):
        raise ValueError("not a JSON object")
    row: dict[str, Any] = {}
    extra = []
    for key, value in members.items():
        if value is None:
            continue
        if key in known:
            row[key] = _typed(key, value, known[key])
        else:
            written = value if isinstance(value, str) else _written(value)
            extra.append({"key": _encodable(key), "value": _encodable(written)})
    return {**row, "extra": extra or None}


def _typed(key: str, value: Any, kind: type[pl.DataType]) -> Any:
    is_number = isinstance(value, _Number)
    if kind == pl.String and isinstance(value, str) and not is_number:
        return _encodable(value)
    if kind == pl.Boolean and isinstance(value, bool):
        return value
    if kind == pl.Float64 and is_number and math.isfinite(float(value)):
        return float(value)
    if kind == pl.Int64 and is_number and value.removeprefix("-").isdecimal() and len(value) < 21:
        number = int(value)
        if -(2**63) <= number < 2**63:
            return number
    raise ValueError(f"{key!r} is not {_WORDS[kind]}")


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("text with half of a surrogate pair") from error
    return str(text)


def _written(value: Any) -> str:
    """A value as JSON, its numbers as they were."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{_written(k)}:{_written(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    return str(value) if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        keys = [key for key, _ in members]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{twice!r} is there twice")
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"not JSON: {word}")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=_Number, parse_float=_Number, parse_constant=_refuse
)
