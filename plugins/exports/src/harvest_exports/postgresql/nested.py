"""Encode maps, structs and lists of them as PostgreSQL's binary jsonb: a byte 1, then JSON text.

The text is the same as in harvest's JSON Lines: NaN and infinities are words, bytes are base64.
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
    """Encode the values; gives also a mask of changed values, None if none changed.

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
    """Mask the maps (lists of structs of key and value) with a duplicate key."""
    inner = series.dtype.inner if isinstance(series.dtype, pl.List) else None
    if not isinstance(inner, pl.Struct) or [f.name for f in inner.fields] != ["key", "value"]:
        return pl.repeat(False, len(series), dtype=pl.Boolean, eager=True)
    keys = series.list.eval(pl.element().struct.field("key"))
    return (keys.list.n_unique() < keys.list.len()).fill_null(value=False)


def _without_nul(text: str) -> str:
    """Replace NUL escapes in JSON text; other escapes stay."""

    def shown(match: re.Match[str]) -> str:
        return match[0] if match[0] != _NUL else NUL_SHOWN.replace("\\", "\\\\")

    return _ESCAPES.sub(shown, text)
