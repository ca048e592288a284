"""Prefixes of task keys in whole columns, by the rule of Dask's scheduler."""

from typing import Final

import polars as pl

from harvest_toolkit.frames import each_once

from .key_columns import TUPLE, odd_texts
from .literals import name_in_key

OTHER: Final = "Other"
DATA: Final = "data"
"""The names of keys without a name, and of keys that are a hash and nothing else."""

_COMPOSED: Final = r"""^(?:\(|b['"])"""
_ORDINARY_TUPLE: Final = rf"^{TUPLE}$"
# Dask takes each word of 8 letters that begins with a to f for a hexadecimal number
_WORD: Final = r"(?:\p{L}{1,7}|[\p{L}--[a-f]]\p{L}{7}|\p{L}{9,})"
_WORDS: Final = rf"^[^-]*((?:-{_WORD})*)(?:-|$)"
_HASH: Final = r"^[a-f0-9]{32}$"
# Python's str.split() cuts at these four separators, too
_BLANK: Final = r"\s\x1c-\x1f"


def prefix_of(key: pl.Expr) -> pl.Expr:
    """Derive the prefix of each key in canonical spelling: the name that tasks of one kind share.

    Follows ``distributed.utils.key_split``, with which Dask's scheduler derives them, so that the
    names are the same where its record is missing.  A key's words are separated by dashes.  The
    prefix has the first word, and the words after it up to the first one that does not consist of
    letters only, or looks like a hexadecimal number.
    """
    return key.map_batches(key_prefixes, return_dtype=pl.String(), is_elementwise=True)


def key_prefixes(keys: pl.Series) -> pl.Series:
    """Derive the prefix of each key; ``Other`` for a key without a name."""
    return pl.select(_split(pl.lit(_names(keys)))).to_series().rename(keys.name)


def _names(keys: pl.Series) -> pl.Series:
    """Select the text that the rule looks at: the key itself, or the first item of a tuple.

    Null if that item is not a text.
    """
    ordinary = keys.str.contains(_ORDINARY_TUPLE)
    first = keys.str.extract(r"^\('([^']*)'")
    names = pl.select(pl.when(ordinary).then(first).otherwise(keys)).to_series()
    odd = keys.str.contains(_COMPOSED) & odd_texts(keys, _ORDINARY_TUPLE)
    return names.scatter(odd.arg_true(), each_once(keys.filter(odd), name_in_key))


def _split(name: pl.Expr) -> pl.Expr:
    """Apply ``distributed.utils.key_split`` to texts."""
    head = name.str.extract(r"^([^-]*)")
    bare = head.str.extract(r"^([^,]*)").str.strip_chars("_'()\"")
    first = pl.when(head.str.contains(r"^\p{L}")).then(head).otherwise(bare)
    words = first + name.str.extract(_WORDS)
    # "<module.Class object at 0x7f3c>": the class
    shown = words.str.strip_chars("<>").str.extract(rf"([^{_BLANK}]+)").str.extract(r"([^.]*)$")
    split = (
        pl.when((head == "") | (words == ""))
        .then(None)
        .when(words.str.contains(_HASH))
        .then(pl.lit(DATA))
        .when(words.str.starts_with("<"))
        .then(shown)
        .otherwise(words)
    )
    return split.fill_null(OTHER)
