"""Keys of tasks in whole columns: canonical spelling, dicts of sizes, sets of keys.

Ordinary texts, of printable ASCII without quotes or backslashes inside strings, are recognised
and cut by regular expressions over the column.  They spell a key as Python would, so nothing is
left to do; the odd ones go through :mod:`.literals`, one by one.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from .arrays import list_array
from .literals import LiteralFault, canonical_key, dict_items, key_of_literal

__all__ = ["KEY", "canonical_keys", "key_sizes", "odd_texts", "unquoted"]

_TEXT: Final = r"'[ -&(-\[\]-~]*'"
_ITEM: Final = rf"(?:{_TEXT}|0|-?[1-9][0-9]{{0,17}})"
_TUPLE: Final = rf"\({_ITEM}(?:,|(?:, {_ITEM})+)\)"
# a string that begins like a tuple may have to be spelled anew: an odd one
_PLAIN: Final = r"'(?:[ -&)-\[\]-~][ -&(-\[\]-~]*)?'"

KEY: Final = rf"(?:{_TUPLE}|{_PLAIN})"
"""An ordinary key as it stands in a printed dict or set."""

_SPELLED: Final = rf"^(?:[^(]|{_TUPLE}$)"
_SIZED: Final = rf"{KEY}: [0-9]{{1,18}}"
_SIZES: Final = rf"^\{{(?:{_SIZED}(?:, {_SIZED})*)?\}}$"

_SIZE: Final = re.compile(r"([0-9]{1,19})(?:\.0*)?")

KEY_SIZE: Final = pa.struct([("key", pa.string()), ("size_bytes", pa.int64())])


def canonical_keys(texts: pa.Array) -> pa.Array:
    """Keys as ``str(key)`` printed them, in their canonical spelling."""
    column = pl.Series(texts)
    odd = odd_texts(column, _SPELLED)
    if not odd.any():
        return texts
    spelled = {text: canonical_key(text) for text in column.filter(odd).unique().to_list()}
    changed = {text: key for text, key in spelled.items() if text != key}
    if not changed:
        return texts
    return column.replace(changed).to_arrow().cast(pa.string())


def odd_texts(column: pl.Series, pattern: str) -> pl.Series:
    """Which texts are not of a pattern; false where null."""
    return (~column.str.contains(pattern)).fill_null(value=False)


def unquoted(keys: pl.Series) -> pl.Series:
    """Ordinary keys as they stand in a printed dict, in canonical spelling: strings unquoted."""
    # a tuple begins and ends with a bracket, and an ordinary string holds no quote inside
    return keys.str.strip_chars("'")


def key_sizes(texts: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Printed dicts of sizes by key as lists of ``{key, size_bytes}``, in the order printed.

    Gives the lists, null where the text is null, and what is wrong, by row, with texts that are
    no such dict (their lists are null).
    """
    column = pl.Series(texts)
    odd = odd_texts(column, _SIZES).to_numpy()
    usual = np.flatnonzero(~odd)
    lists = _usual_sizes(column.gather(usual))
    if not odd.any():
        return lists, {}
    faults: dict[int, str] = {}
    others = []
    odd_rows = np.flatnonzero(odd)
    for row, text in zip(odd_rows.tolist(), column.gather(odd_rows).to_list(), strict=True):
        try:
            others.append([(key_of_literal(key), _size(size)) for key, size in dict_items(text)])
        except LiteralFault as fault:
            faults[row] = f"column 'keys': {fault}"
            others.append(None)
    both = pa.concat_arrays([lists, pa.array(others, lists.type)])
    order = np.argsort(np.concatenate([usual, odd_rows]), kind="stable")
    return both.take(pa.array(order)), faults


def _usual_sizes(column: pl.Series) -> pa.Array:
    """The same of ordinary texts and nulls."""
    lists = column.str.extract_all(_SIZED)
    lengths = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    entries = lists.explode().drop_nulls().to_frame("entry")
    bare = pl.col("entry").str.strip_chars_end("0123456789")
    frame = entries.select(
        key=bare.str.strip_suffix(": "),
        size=pl.col("entry").str.slice(bare.str.len_bytes()).cast(pl.Int64),
    )
    items = pa.StructArray.from_arrays(
        [unquoted(frame["key"]).to_arrow().cast(pa.string()), frame["size"].to_arrow()],
        fields=list(KEY_SIZE),
    )
    return list_array(lengths, items, column.is_null().to_numpy())


def _size(text: str) -> int | None:
    """A size as printed: a whole number, perhaps as a float, or None."""
    if text == "None":
        return None
    match = _SIZE.fullmatch(text)
    if not match or int(match[1]) >= 2**63:
        raise LiteralFault(f"{text[:60]!r} is no size in bytes")
    return int(match[1])
