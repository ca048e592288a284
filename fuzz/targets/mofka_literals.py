"""Python literals in cells: keys, sets of keys, dicts by key; the input is one text.

The scanner for odd texts and the regular expressions for ordinary ones must agree: what
``ast.literal_eval`` takes for a literal and has the type looked for is read with the same keys.
"""

import ast
from random import Random

import pyarrow as pa

from harvest_dask.records.key_columns import canonical_keys, key_sizes
from harvest_dask.records.literals import (
    LiteralFault,
    canonical_key,
    dict_items,
    key_of_literal,
    set_items,
)

from ..invariant import require
from ..mutate import NASTY
from . import Target

WORDS = (
    "('a', 1)", "'a'", '"a"', "b'a'", "set()", "{", "}", "(", ")", "[", "]", ",", ", ", ":", ": ",
    "'", "\\", "\\'", "1", "-1", "1.5", "1e5", "None", "True", "nan", "inf", "np.int64(3)",
    "frozenset({'a'})", "{'a': 1, 'b': 2}", "{'a': {'b'}, 'b': set()}", "\\x41", "\\u0041",
    "\\N{DIGIT ONE}", "\\ud800", "1_0", "0x1", "+", "-", "j", "''", "\x00", "\u2028",
)  # fmt: skip


def run(data: bytes) -> None:
    """Cut a text into items and keys by every road there is."""
    text = data.decode("utf-8", "replace")
    key = canonical_key(text)
    require(canonical_key(key) == key, f"{key!r} has another canonical spelling")
    key.encode()
    require(canonical_keys(pa.array([text, "x", None])).to_pylist()[0] == key, "column and item")
    for cut in (key_of_literal, set_items, dict_items):
        try:
            cut(text)
        except LiteralFault as fault:
            require(str(fault), "a fault without a reason")
    _sizes(text)


def _sizes(text: str) -> None:
    """A dict of sizes: the keys of Python's own reading, in their order."""
    lists, faults = key_sizes(pa.array([text, None, "{'a': 1}"]))
    lists.validate(full=True)
    require(lists.to_pylist()[1:] == [None, [{"key": "a", "size_bytes": 1}]], "its neighbours")
    require((lists.to_pylist()[0] is None) == (0 in faults), "neither a list nor a fault")
    if 0 in faults:
        return
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return
    if not isinstance(value, dict) or len(value) != text.count(": "):
        return  # a key that repeats, or a colon in a key
    if all(isinstance(key, str) and not key.startswith("(") for key in value):
        require([item["key"] for item in lists.to_pylist()[0]] == list(value), "other keys")


def make_seeds() -> list[bytes]:
    """Keys, sets and dicts as Dask prints them."""
    return [word.encode() for word in (*WORDS, *NASTY) if word]


def mutate(data: bytes, random: Random) -> bytes:
    """Put a word in, or take some characters out."""
    text = data.decode("utf-8", "replace")
    place = random.randint(0, len(text))
    if random.random() < 0.3:
        return (text[:place] + text[place + random.randint(1, 4) :]).encode()
    return (text[:place] + random.choice(WORDS) + text[place:]).encode()


TARGET = Target(
    name="mofka_literals",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=1024,
)
