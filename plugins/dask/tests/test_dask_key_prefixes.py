"""Prefixes of keys against Dask's own function, where it is installed."""

import ast
import csv
from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harvest_dask.records.key_prefixes import key_prefixes
from harvest_dask.records.literals import canonical_key

EXAMPLES = [
    ("x", "x"),
    ("x-1-2-3", "x"),
    ("hello-world-1", "hello-world"),
    ("('array-8838909ee9756e34565341881e2e6f0c', 127)", "array"),
    ("(('nested-1', 2), 3)", "nested"),
    ("('sum-aggregate-fea9ffa7', 0)", "sum-aggregate"),
    ("(b'bytes-in-tuple', 3)", "bytes-in-tuple"),
    ("b'hello-world-1'", "hello-world"),
    ("('quo\\'te-1', 2)", "quo'te"),
    ("('größe-mitte-1', 2)", "größe-mitte"),
    ("(1, 2)", "Other"),
    ("_dask_helper-10af37fe-2ee2-4173-ad5b-1a37485446f0", "dask_helper"),
    ("ae05086432ca935f6eba409a8ecd4896", "data"),
    ("x-abcdefab", "x"),
    # eight letters, the first of a to f: Dask takes it for a hexadecimal number
    ("x-finalize-y", "x"),
    ("x-generate-y", "x-generate-y"),
    ("<module.submodule.myclass object at 0xdaf372", "myclass"),
    ("<>", "Other"),
    ("_(x)", "x"),
    ("-x", "Other"),
    ("", "Other"),
    ("___", "Other"),
    (None, "Other"),
]


def test_the_prefix_of_a_key():
    keys, prefixes = zip(*EXAMPLES, strict=True)
    assert key_prefixes(pl.Series(keys)).to_list() == [*prefixes]
    assert [key_prefixes(pl.Series([key], dtype=pl.String)).item() for key in keys] == [*prefixes]


PIECES = st.sampled_from(
    [
        *("x", "sum", "finalize", "generate", "abcdefab", "ÄÖü", "1a", "0", "_", "'", '"', "\\"),
        *("(", ")", ",", ", ", "<", ">", ".", " ", "\x1c", "\n", "\xa0", "-", "--", "object at"),
        "ae05086432ca935f6eba409a8ecd4896",
        *("b'", "('", "',)", "', 1)", "1a37485446f0"),
    ]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(
    st.characters(exclude_categories=["Cs", "Cn"]), max_size=20
)
KEYS = TEXTS | st.recursive(
    st.tuples(TEXTS | st.binary(max_size=6) | st.integers(), st.integers() | TEXTS),
    lambda inner: st.tuples(inner, st.integers()),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def key_split():
    return pytest.importorskip("distributed.utils").key_split


def by_dask(key_split: Callable[[object], str], text: str) -> str:
    """The prefix by Dask of what a text in canonical spelling stands for."""
    try:
        return key_split(meant(text))
    except (UnicodeDecodeError, IndexError, TypeError):  # it fails for such bytes, and for ()
        return "Other"


def meant(text: str) -> object:
    """The tuple or bytes that a text is the literal of, else the text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, tuple | bytes) and not text[0].isspace() else text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # odd escapes
@given(st.lists(KEYS, min_size=1, max_size=20))
@example(keys=[("('x-1',)")])
def test_prefixes_are_those_of_dask(key_split, keys):
    # given keys as the record spells them
    texts = [canonical_key(key) if isinstance(key, str) else str(key) for key in keys]
    # bytes and tuples in other brackets or spellings are texts to the record
    texts = [text for text in texts if not text.startswith(("B'", 'B"', "rb", "br"))]

    found = key_prefixes(pl.Series(texts, dtype=pl.String)).to_list()

    assert found == [by_dask(key_split, text) for text in texts]


def test_prefixes_of_real_runs_are_those_that_the_scheduler_recorded(shared_data):
    paths = sorted((shared_data / "mofka-dask").glob("*/scheduler_transition*.csv"))
    if not paths:
        pytest.skip("no Mofka-Dask samples")
    for path in paths:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        found = key_prefixes(pl.Series([canonical_key(row["key"]) for row in rows]))
        assert found.to_list() == [row["prefix"] for row in rows]
