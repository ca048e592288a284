"""Maps, structs and lists of such as PostgreSQL's binary jsonb: a byte 1, then the JSON text.

The text is that of harvest's JSON Lines: NaN and the infinities are words, bytes base64.
"""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from harvest.model.json import encode_frame

NUL_SHOWN: Final = r"\x00"
"""What stands for a NUL, as for other bytes that a text cannot hold."""

_VERSION: Final = "\x01"
_NUL: Final = "\\u0000"
_ESCAPES: Final = re.compile(r"\\(?:u0000|.)", re.DOTALL)


def json_texts(series: pl.Series) -> tuple[pl.Series, pl.Series | None]:
    """The values as they are sent, and which of them had to be changed; None where none had.

    An object of jsonb has each key once: a map that has one twice is an array of its pairs.
    """
    texts, changed = _texts(series), None
    if (twice := _with_a_key_twice(series)).any():
        pairs = series.list.eval(pl.element().struct.rename_fields(["name", "value"]))
        texts, changed = _texts(pairs).zip_with(twice, texts), twice
    with_nul = texts.str.contains(_NUL, literal=True)
    if with_nul.any():
        shown = texts.map_elements(_without_nul, return_dtype=pl.String)
        differs = shown != texts
        texts, changed = shown, differs if changed is None else changed | differs
    sent = pl.select(pl.when(series.is_not_null()).then(_VERSION + texts)).to_series()
    return sent, changed if changed is not None and changed.any() else None


def _texts(series: pl.Series) -> pl.Series:
    texts = encode_frame(series.alias("v").to_frame())
    return texts.str.strip_prefix('{"v":').str.head(-1)


def _with_a_key_twice(series: pl.Series) -> pl.Series:
    """Which values are maps, lists of structs of key and value, that have one key twice."""
    inner = series.dtype.inner if isinstance(series.dtype, pl.List) else None
    if not isinstance(inner, pl.Struct) or [f.name for f in inner.fields] != ["key", "value"]:
        return pl.repeat(False, len(series), dtype=pl.Boolean, eager=True)
    keys = series.list.eval(pl.element().struct.field("key"))
    return (keys.list.n_unique() < keys.list.len()).fill_null(value=False)


def _without_nul(text: str) -> str:
    """The JSON text with what shows a NUL in its place; any other escape stays."""

    def shown(match: re.Match[str]) -> str:
        return match[0] if match[0] != _NUL else NUL_SHOWN.replace("\\", "\\\\")

    return _ESCAPES.sub(shown, text)
