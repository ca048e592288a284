"""Pairs of key and value as columns: compared with a reading of each text by itself."""

import re
from collections.abc import Mapping

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harvest_toolkit.line_blocks import split
from harvest_toolkit.pairs import fields, pairs
from harvest_toolkit.spans import Spans, spans, strings
from harvest_toolkit.values import INTEGER, TEXT, Kind

KNOWN = {"user": ("user", TEXT), "n": ("count", INTEGER)}

WORD = re.compile(
    r"""(?:^|\ )\ *
        (?P<key>[^ =]+)=
        (?: "(?P<double>(?:(?!"(?:\ |$)).)*)"(?=\ |$)
          | '(?P<single>(?:(?!'(?:\ |$)).)*)'(?=\ |$)
          | (?P<bare>(?:[^ "'][^ ]*)?)(?=\ |$) )""",
    re.VERBOSE | re.DOTALL,
)


def read_one(text: str) -> dict[str, str] | None:
    """The pairs of one text by a regular expression; None where it is something else."""
    found: dict[str, str] = {}
    place = 0
    text = text.rstrip(" ")
    while place < len(text):
        match = WORD.match(text, place)
        if match is None or match["key"] in found:
            return None
        found[match["key"]] = next(
            value for name in ("double", "single", "bare") if (value := match[name]) is not None
        )
        place = match.end()
    return found


def texts_of(texts: list[str]) -> Spans:
    """Texts as spans of one buffer."""
    lines = split("".join(f"x{text}\n" for text in texts).encode(), 1)
    return Spans(lines.spans.data, lines.spans.start + 1, lines.spans.end)


def rows_of(
    texts: list[str], known: Mapping[str, tuple[str, Kind]] = KNOWN
) -> list[dict[str, object] | str]:
    """What is found in each text: a row, or what is wrong with it.

    It is the same for lines of a file and for an Arrow column, where nothing is between texts.
    """
    found = []
    for column in (texts_of(texts), spans(pa.array(texts, pa.string()))):
        table, faults = pairs(column, known)
        rows = table.to_pylist()
        assert len(rows) == len(texts)
        found.append([faults.get(place, row) for place, row in enumerate(rows)])
    assert found[0] == found[1]
    return found[0]


PIECES = st.lists(
    st.one_of(
        st.sampled_from(["user=", "n=", "a=", "b=", '"', "'", " ", "=", "7", "ü", "=x", "r.b="]),
        st.text("ab\"'= é;", max_size=4),
    ),
    max_size=9,
).map("".join)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES, max_size=6))
def test_pairs_are_those_that_a_reading_of_each_text_gives(texts: list[str]) -> None:
    """Given any texts, when read together, then each gives what it gives alone, or a fault."""
    for text, found in zip(texts, rows_of(texts), strict=True):
        expected = read_one(text)
        number = (expected or {}).get("n")
        if expected is None or (number is not None and not re.fullmatch(r"-?[0-9]{1,18}", number)):
            assert isinstance(found, str), text
            continue
        extra = [(key, value) for key, value in expected.items() if key not in KNOWN]
        assert found == {
            "user": expected.get("user"),
            "count": None if number is None else int(number),
            "extra": extra or None,
        }, text


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("  user=ada   n=-29 ", {"user": "ada", "count": -29, "extra": None}),
        ("a=x=1 b=", {"user": None, "count": None, "extra": [("a", "x=1"), ("b", "")]}),
        ('user="ada l" n=1', {"user": "ada l", "count": 1, "extra": None}),
        ("""a='{"b": 1, "c=": 2}' n=1""",
         {"user": None, "count": 1, "extra": [("a", '{"b": 1, "c=": 2}')]}),
        ('a="x"y z" b=5"', {"user": None, "count": None, "extra": [("a", 'x"y z'), ("b", '5"')]}),
        ('a="" user=""', {"user": "", "count": None, "extra": [("a", "")]}),
        ('a="b=\'c d\'  e" n=2', {"user": None, "count": 2, "extra": [("a", "b='c d'  e")]}),
        ('a="x y="z" n=3', {"user": None, "count": 3, "extra": [("a", 'x y="z')]}),
    ],
)  # fmt: skip
def test_a_text_gives_a_row(text: str, row: dict[str, object]) -> None:
    assert rows_of([text]) == [row]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("user=ada lovelace", "'lovelace' is not key=value"),
        ("=1", "'=1' is not key=value"),
        ('user="ada n=1', "a quote is never closed"),
        ('user="ada"l n=1', "a quote is never closed"),
        ("user=ada user=ada", "user is there twice"),
        ("a=1 b=2 a=3", "a is there twice"),
        ("n=1.5", "n=1.5 is not a whole number"),
        ("n=", "n= is not a whole number"),
    ],
)
def test_what_is_not_pairs_has_a_reason_and_its_neighbours_are_read(text: str, reason: str) -> None:
    sound = {"user": "bob", "count": 1, "extra": None}
    assert rows_of(["user=bob n=1", text, "n=1 user=bob"]) == [sound, reason, sound]


def test_many_different_keys_are_read_as_few_are() -> None:
    """Given more keys than marks are held for, then keys that are there twice are found too."""
    texts = [" ".join(f"k{text}_{number}=1" for number in range(40)) for text in range(700)]
    texts[500] += " k500_7=2"
    found = rows_of(texts)
    assert found[500] == "k500_7 is there twice"
    assert [row for row in found if isinstance(row, str)] == ["k500_7 is there twice"]


def test_a_key_of_each_text_is_there_once() -> None:
    """Given 2**17 - 1 texts with a key of their own each, then no key is there twice.

    The pair of text and key numbers does not fit into 32 bits.
    """
    table, faults = pairs(texts_of([f"k{number}=1" for number in range(2**17 - 1)]), KNOWN)
    assert (table.num_rows, faults) == (2**17 - 1, {})


def test_keys_of_one_kind_each_have_their_column() -> None:
    """Given keys of two kinds in turns, when read, then each column has the values of its key."""
    known = {"user": ("user", TEXT), "n": ("n", INTEGER), "group": ("group", TEXT),
             "m": ("m", INTEGER)}  # fmt: skip
    assert rows_of(["m=1 user=ada", "group=g n=2 m=3", ""], known) == [
        {"user": "ada", "n": None, "group": None, "m": 1, "extra": None},
        {"user": None, "n": 2, "group": "g", "m": 3, "extra": None},
        {"user": None, "n": None, "group": None, "m": None, "extra": None},
    ]


def test_texts_of_megabytes_are_read_as_few_are() -> None:
    """Given more texts than words are found in at a time, then rows and reasons are at their place.

    A text that is larger than this is in the middle.
    """
    texts = [f'n={number} a="b {number}" pad={"x" * 400}' for number in range(3000)]
    texts[1500] = f"n=1500 pad={'y' * 2_000_000}"
    texts[2900] = 'n=2900 a="b'
    expected: list[object] = [
        {"user": None, "count": number,
         "extra": [("a", f"b {number}"), ("pad", "x" * 400)]} for number in range(3000)
    ]  # fmt: skip
    expected[1500] = {"user": None, "count": 1500, "extra": [("pad", "y" * 2_000_000)]}
    expected[2900] = "a quote is never closed"
    found = rows_of(texts)
    assert [place for place in range(3000) if found[place] != expected[place]] == []


@settings(deadline=None)
@given(st.lists(st.text("ab;ü ", max_size=9), max_size=6), st.integers(1, 4))
def test_fields_are_those_of_a_split(texts: list[str], count: int) -> None:
    columns, whole = fields(texts_of(texts), b";", count)
    found = list(zip(*(strings(column).to_pylist() for column in columns), strict=True))
    for text, row, good in zip(texts, found, whole.tolist(), strict=True):
        expected = text.split(";", count - 1)
        assert good == (len(expected) == count)
        assert list(row) == (expected if good else [""] * count)
