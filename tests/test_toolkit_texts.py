"""Text from any input, safe to print and to store."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.toolkit.texts import excerpt, not_utf8, printable, printable_line


@given(st.text(st.characters()))
def test_a_line_holds_nothing_that_steers_a_terminal(text):
    """Given any text, lone surrogates included, then what is shown is of printable categories."""
    shown = printable_line(text)
    shown.encode()
    assert all(unicodedata.category(c)[0] not in "CZ" or c == " " for c in shown)
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é ß 漢", "plain é ß 漢"),
        ("\x1b[2J", "\\x1b[2J"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\\xe9"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_is_not_printable_becomes_escapes(text, shown):
    assert printable_line(text) == shown


def test_names_keep_their_line_ends_where_they_are_stored():
    assert printable(b"a\n\xff".decode("utf-8", "surrogateescape")) == "a\n\\xff"


def test_an_excerpt_says_that_there_is_more():
    assert excerpt("x" * 80) == "x" * 80
    assert excerpt("x" * 81) == "x" * 80 + "..."
    assert excerpt("abc", 2) == "ab..."


@given(st.binary())
def test_bytes_are_utf8_or_the_first_wrong_one_is_named(raw):
    try:
        raw.decode()
        expected = None
    except UnicodeDecodeError as error:
        expected = f"not UTF-8: byte 0x{raw[error.start]:02x} at byte {error.start + 1}"
    assert not_utf8(raw) == expected
