"""One canonical spelling of a key, whichever file and however Python printed it."""

import ast
import contextlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import collect
from harvest_dask.records.key_columns import canonical_keys, key_sizes
from harvest_dask.records.literals import (
    LiteralFault,
    canonical_key,
    dict_items,
    key_of_literal,
    set_items,
)


def spelled(key: object) -> str:
    """The canonical spelling by Python itself: an independent account of the rule."""
    text = str(key)
    if isinstance(key, str):
        try:
            value = ast.literal_eval(key) if key.startswith("(") and key.endswith(")") else None
        except (ValueError, SyntaxError):
            return text
        return str(value) if isinstance(value, tuple) else text
    return text


TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12),
    st.text("'\"\\,(){}:\n a1#é", max_size=8),
    st.sampled_from(
        ["it's", 'a"b', "('a',1)", '("a", 1)', "(", "set()", "{}", "a: 1", "0", "", "()"]
    ),
)
ATOMS = st.one_of(
    TEXTS,
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(max_size=4),
)
TUPLES = st.recursive(
    st.lists(ATOMS, min_size=1, max_size=4).map(tuple),
    lambda inner: st.lists(st.one_of(ATOMS, inner), min_size=1, max_size=3).map(tuple),
    max_leaves=8,
)
KEYS = st.one_of(TEXTS.filter(lambda text: text != ""), TUPLES)


@pytest.mark.slow
@given(KEYS)
def test_a_key_printed_by_str_or_repr_gives_the_same_spelling(key):
    assert canonical_key(str(key)) == spelled(key)
    assert key_of_literal(repr(key)) == spelled(key)


@pytest.mark.slow
@given(st.lists(KEYS, max_size=6))
def test_whole_columns_are_spelled_as_single_keys_are(keys):
    column = pa.array([str(key) for key in keys] + [None], pa.string())
    assert canonical_keys(column).to_pylist() == [*(spelled(key) for key in keys), None]


@pytest.mark.slow
@given(st.lists(st.dictionaries(KEYS, st.integers(0, 2**63 - 1), max_size=4), max_size=5))
def test_printed_dicts_of_sizes_keep_their_order(dicts):
    lists, faults = key_sizes(pa.array([repr(d) for d in dicts] + [None], pa.string()))
    assert not faults
    assert lists.to_pylist() == [
        *([{"key": spelled(k), "size_bytes": v} for k, v in d.items()] for d in dicts),
        None,
    ]


@pytest.mark.pandas
@given(st.lists(KEYS, min_size=1, max_size=5, unique_by=spelled))
def test_three_files_that_pandas_wrote_agree_on_every_key(tmp_path_factory, keys):
    """Given a run written by the library that the coupler uses, then its keys are equal strings."""
    table = pytest.importorskip("pandas").DataFrame
    reader = pytest.importorskip("harvest_mofka_dask.source", reason="it reads such files")
    folder = tmp_path_factory.mktemp("run")
    time = 1713553301.5
    change = {"start": "a", "finish": "b", "called_from": "w", "time": time}
    moved = {"start": time, "stop": time, "type": "incoming_transfer", "called_from": "w"}
    needs = str({key: set(keys) - {key} for key in keys})
    sent = {"client": "C", "keys": str(set(keys[:1])), "time": time, "dependencies": needs}
    files = {
        "worker_transition.csv": [{"key": str(key), **change} for key in keys],
        "worker_transfer.csv": [
            {**moved, "keys": str({key: 1}), "total": number} for number, key in enumerate(keys)
        ],
        "graph.csv": [sent],
    }
    for name, rows in files.items():
        table.from_records(rows).to_csv(folder / name)
    found = collect(reader.MofkaDaskSource(str(folder)))
    expected = [spelled(key) for key in keys]
    assert not found.rejects
    assert [r["key"] for r in found.rows("dask.worker_transition")] == expected
    assert [r["keys"][0]["key"] for r in found.rows("dask.transfer")] == expected
    tasks = found.rows("dask.graph_task")
    assert [t["key"] for t in tasks] == expected
    assert [t["requested"] for t in tasks] == [i == 0 for i in range(len(keys))]
    assert [t["dependencies"] for t in tasks] == [sorted(set(expected) - {key}) for key in expected]


def test_spacing_and_quotes_of_a_tuple_do_not_matter():
    spellings = ["('a', 1)", "('a',1)", '("a", 1)', "( 'a' , 1 )", "('a', 1,)"]
    assert {canonical_key(text) for text in spellings} == {"('a', 1)"}
    column = pa.array([*spellings, "list-1", "(not a tuple)", "('a')"])
    assert canonical_keys(column).to_pylist() == [
        *["('a', 1)"] * 5,
        "list-1",
        "(not a tuple)",
        "('a')",
    ]


def test_scalars_of_numpy_and_nan_stay_as_python_prints_them():
    for text in ("('x', np.int64(3))", "('x', nan)", "('x', -inf, 1.5e-07)"):
        assert canonical_key(text) == key_of_literal(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a",
        "('a' + 1)",
        "(1).__class__",
        "'a' 'b'",
        "",
    ],
)
def test_what_is_no_literal_is_never_a_key(text):
    with pytest.raises(LiteralFault):
        key_of_literal(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "(" * 100 + ")" * 100,
        "-" * 50_000 + "1",
        "('" + "a" * 200_000,
        "{" * 5000 + "}" * 5000,
        "(" + "-" * 60 + "1,)",
        "'" + "\\" * 99_999,
        "('a'," + "9" * 5000 + ")",
    ],
)
def test_hostile_texts_end_soon_and_never_break_the_reader(text):
    canonical_key(text)
    canonical_key(f"({text})")
    for read in (set_items, dict_items, key_of_literal):
        for shape in (text, f"{{{text}}}", f"{{{text}: 1}}"):
            with contextlib.suppress(LiteralFault):
                read(shape)
    key_sizes(pa.array([f"{{{text}: 1}}", text]))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("set()", []),
        ("{'a'}", ["'a'"]),
        ("frozenset({'a', 'b'})", ["'a'", "'b'"]),
        ("[]", []),
        ("['a', ('b', 1)]", ["'a'", "('b', 1)"]),
        ("{'a, b', \"it's\",}", ["'a, b'", '"it\'s"']),
    ],
)
def test_sets_and_lists_are_cut_into_items(text, items):
    assert set_items(text) == items


@pytest.mark.parametrize("text", ["", "{", "a", "{'a'", "{'a')", "{'a': 1}", "{,}", "{'a'}}"])
def test_what_is_no_set_is_said_to_be_none(text):
    with pytest.raises(LiteralFault):
        [key_of_literal(item) for item in set_items(text)]


@pytest.mark.parametrize("more", [[], ["{(01, 2): 5}"]], ids=["literal", "with a key that is none"])
def test_sizes_are_those_of_their_row_wherever_an_odd_dict_stands(more):
    texts = ["{'a': 1}", "{'b': None}", None, "{'c': 3}", "{'d': 4.0, 'e': 5}", "no", "{}", *more]
    lists, faults = key_sizes(pa.array(texts, pa.string()))
    found = [
        None if row is None else [tuple(pair.values()) for pair in row] for row in lists.to_pylist()
    ]
    known = [[("a", 1)], [("b", None)], None, [("c", 3)], [("d", 4), ("e", 5)], None, []]
    assert found == known + [None] * len(more)
    assert sorted(faults) == [5, *range(7, len(texts))]
