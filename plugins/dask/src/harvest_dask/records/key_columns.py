"""Task keys in whole columns: canonical spelling, dicts of sizes, sets of keys.

Ordinary keys are printable ASCII without quotes or backslashes inside strings. Regular expressions
recognise them over the whole column; their spelling is already Python's own and stays unchanged.
Odd keys are rewritten one by one, each distinct key once. Texts that no regular expression splits
into keys go through the scanner of :mod:`.literals`.
"""

import re
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from harvest_toolkit.frames import each_once

from .arrays import list_array
from .literals import LiteralFault, canonical_key, dict_items, key_of_literal

__all__ = [
    *("ANY_KEY", "ASKED", "KEY", "TASKS", "TUPLE", "canonical_keys", "key_sizes", "odd_texts"),
    *("spelled_keys", "with_requested"),
]

_TEXT: Final = r"'[ -&(-\[\]-~]*'"
_ITEM: Final = rf"(?:{_TEXT}|0|-?[1-9][0-9]{{0,17}})"
TUPLE: Final = rf"\({_ITEM}(?:,|(?:, {_ITEM})+)\)"
# a string that begins like a tuple may need another spelling, so it counts as odd
_PLAIN: Final = r"'(?:[ -&)-\[\]-~][ -&(-\[\]-~]*)?'"

KEY: Final = rf"(?:{TUPLE}|{_PLAIN})"
"""An ordinary key in a printed dict or set."""

_ANY_TEXT: Final = r"""b?(?:'(?:[^'\\\n]|\\[^\n])*'|"(?:[^"\\\n]|\\[^\n])*")"""
_ANY_ITEM: Final = rf"(?:{_ANY_TEXT}|-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?|None|True|False|-?inf|nan)"
_INNER: Final = rf"\((?:{_ANY_ITEM}(?:, {_ANY_ITEM})*,?)?\)"
# not the empty tuple, which is part of every ``set()``
_OUTER: Final = rf"\((?:{_ANY_ITEM}|{_INNER})(?:, (?:{_ANY_ITEM}|{_INNER}))*,?\)"

ANY_KEY: Final = rf"(?:{_OUTER}|{_ANY_ITEM})"
"""Nearly any key in a printed dict or set, with tuples in a tuple."""

_SIZED: Final = rf"{ANY_KEY}: [0-9]{{1,18}}"
_SIZES: Final = rf"^\{{(?:{_SIZED}(?:, {_SIZED})*)?\}}$"
_SPELLED: Final = rf"^(?:[^(]|{TUPLE}$)"
_ORDINARY: Final = rf"^{KEY}$"

_SIZE: Final = re.compile(r"([0-9]{1,19})(?:\.0*)?")

KEY_SIZE: Final = pa.struct([("key", pa.string()), ("size_bytes", pa.int64())])

ASKED: Final = {"row": pl.Int64(), "key": pl.String()}
"""Columns of requested keys; row: number of the graph."""
TASKS: Final = {**ASKED, "needs": pl.List(pl.String)}
"""Columns of the tasks of graphs, with the keys that each task needs."""


def canonical_keys(texts: pa.Array) -> pa.Array:
    """Convert keys printed by ``str(key)`` to their canonical spelling."""
    column = pl.Series(texts)
    odd = odd_texts(column, _SPELLED)
    if not odd.any():
        return texts
    spelled = each_once(column.filter(odd), canonical_key)
    return column.scatter(odd.arg_true(), spelled).to_arrow().cast(pa.string())


def odd_texts(column: pl.Series, pattern: str) -> pl.Series:
    """Mark the texts that do not match a pattern; false for null."""
    return (~column.str.contains(pattern)).fill_null(value=False)


def spelled_keys(keys: pl.Series, pattern: str) -> pl.Series:
    """Convert keys from a printed dict or set to canonical spelling.

    pattern: the pattern that found them, KEY or ANY_KEY.
    Raises LiteralFault for a key found by ANY_KEY that is not a literal.
    """
    # a tuple begins and ends with a bracket, and an ordinary string holds no quote inside
    plain = keys.str.strip_chars("'")
    if pattern == KEY:
        return plain
    odd = odd_texts(keys, _ORDINARY)
    return plain.scatter(odd.arg_true(), each_once(keys.filter(odd), key_of_literal))


def key_sizes(texts: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Parse printed dicts of sizes by key into lists of ``{key, size_bytes}``, in printed order.

    Returns the lists, and an error message by row for texts that are not dicts of sizes. The list
    is null for those texts and for null.
    """
    column = pl.Series(texts)
    odd = odd_texts(column, _SIZES)
    try:
        usual = _usual_sizes(column.filter(~odd))
    except LiteralFault:  # one key is not a literal: all texts are parsed one by one
        odd = column.is_not_null()
        usual = _usual_sizes(column.filter(~odd))
    faults: dict[int, str] = {}
    others: list[list[tuple[str, int | None]] | None] = []
    for row in odd.arg_true().to_list():
        try:
            others.append([(key_of_literal(key), _size(n)) for key, n in dict_items(column[row])])
        except LiteralFault as fault:
            others.append(None)
            faults[row] = f"column 'keys': {fault}"
    if not others:
        return usual, faults
    pieces = pa.concat_arrays([usual, pa.array(others, pa.list_(KEY_SIZE))])
    order = np.argsort(odd.to_numpy(), kind="stable")
    return pieces.take(pa.array(np.argsort(order))), faults


def _usual_sizes(column: pl.Series) -> pa.Array:
    """Parse dicts of sizes that match the pattern completely, and nulls."""
    lists = column.str.extract_all(_SIZED)
    lengths = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    entries = lists.explode().drop_nulls().to_frame("entry")
    bare = pl.col("entry").str.strip_chars_end("0123456789")
    frame = entries.select(
        key=bare.str.strip_suffix(": "),
        size=pl.col("entry").str.slice(bare.str.len_chars()).cast(pl.Int64),
    )
    keys = spelled_keys(frame["key"], ANY_KEY)
    items = pa.StructArray.from_arrays(
        [keys.to_arrow().cast(pa.string()), frame["size"].to_arrow()], fields=list(KEY_SIZE)
    )
    return list_array(lengths, items, column.is_null().to_numpy())


def _size(text: str) -> int | None:
    """Parse a printed size: a whole number, possibly printed as a float, or None."""
    if text == "None":
        return None
    match = _SIZE.fullmatch(text)
    if not match or int(match[1]) >= 2**63:
        raise LiteralFault(f"{text[:60]!r} is not a size in bytes")
    return int(match[1])


def with_requested(tasks: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Add ``requested`` to the tasks of graphs; keys that have no task come last in their graph."""
    wanted = asked.unique().with_columns(requested=True)
    found = tasks.join(wanted, on=["row", "key"], how="left", maintain_order="left")
    missing = wanted.join(tasks, on=["row", "key"], how="anti").sort("row", "key")
    more = missing.with_columns(needs=pl.lit([], pl.List(pl.String))).select(found.columns)
    every = pl.concat([found, more]) if more.height else found
    return every.with_columns(pl.col("requested").fill_null(value=False)).sort(
        "row", maintain_order=True
    )
